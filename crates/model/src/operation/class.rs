//! Classes of operations, by the time they are likely to take.

/// Class of an operation. Each class has a concurrency limit of its own, so that short operations never wait for long
/// ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationClass {
    /// Reads one object: a call or two.
    Read,
    /// Reads much, as fast as its reader takes it.
    BulkRead,
    /// Changes something: a few calls.
    Change,
    /// Changes something, and waits until the cluster has completed it.
    WaitingChange,
    /// Goes on until it is ended.
    Stream,
}
