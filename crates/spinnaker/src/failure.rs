//! How an operation fails: with the name of a Java exception, since status lines have it, and a message for people.

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The exception that Clouddriver would have thrown.
    pub exception: &'static str,
    pub message: String,
}

// === impl Failure ===

impl Failure {
    pub fn illegal_argument(message: impl Into<String>) -> Self {
        Self { exception: "IllegalArgumentException", message: message.into() }
    }

    pub fn illegal_state(message: impl Into<String>) -> Self {
        Self { exception: "IllegalStateException", message: message.into() }
    }

    pub fn runtime(message: impl Into<String>) -> Self {
        Self { exception: "RuntimeException", message: message.into() }
    }

    /// What a cluster answered, as kubectl would have said it.
    pub fn kubectl(message: impl Into<String>) -> Self {
        Self { exception: "KubectlException", message: message.into() }
    }
}
