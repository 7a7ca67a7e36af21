//! Collections: the objects of one resource for lists and watches, stored or generated.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Notify;

use super::{ChangeKind, ChangesError, RevisionGone};

/// All objects of one resource.
///
/// Bytes are compact JSON objects without `apiVersion` and `kind`, and never `{}`. They contain
/// `metadata.resourceVersion`. Paths are `namespace/name`, or `name` for cluster-scoped resources; lists are in their
/// byte order.
pub trait Collection: Send + Sync + 'static {
    /// Newest revision.
    fn revision(&self) -> u64;

    /// One object.
    fn get(&self, path: &str) -> Option<Bytes>;

    /// Objects at a revision, or now; those of one namespace if a prefix such as `default/` is given, and of these the
    /// ones after a path.
    fn snapshot(&self, prefix: &str, after: Option<&str>, at: Option<u64>) -> Result<Snapshot, RevisionGone>;

    /// Changes after a revision in their order, at most `limit`.
    fn changes(&self, after: u64, limit: usize) -> Result<Changes, ChangesError>;

    /// Notifies of changes by [`Notify::notify_waiters`]; none if the collection never changes.
    fn changed(&self) -> Option<Arc<Notify>>;
}

/// Objects at one revision, generated one by one while a list is written.
pub struct Snapshot {
    pub revision: u64,
    /// Number of selected objects.
    pub count: u64,
    pub items: Box<dyn Iterator<Item = SnapshotItem> + Send>,
}

/// One object of a snapshot.
#[derive(Debug, Clone)]
pub struct SnapshotItem {
    pub path: Box<str>,
    pub object: Bytes,
}

/// Changes, and the revision up to which they are complete.
pub struct Changes {
    pub changes: Vec<Change>,
    /// No other changes happened up to this revision.
    pub position: u64,
}

/// One change of one object.
#[derive(Debug, Clone)]
pub struct Change {
    pub revision: u64,
    pub kind: ChangeKind,
    pub path: Box<str>,
    pub object: Bytes,
    /// State before the change, by which watches with a selector detect that an object enters or leaves it.
    pub previous: Option<Bytes>,
}
