//! How an operation fails: with the name of a Java exception, since status lines have it, and a message for people.

use crate::{Coordinates, Unsupported};

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

    /// Traffic cannot be turned on or off for what is not there.
    pub fn no_such_manifest(target: &Coordinates) -> Self {
        Self::illegal_state(format!("Could not find kubernetes manifest: {target}"))
    }

    pub fn no_such_load_balancer(service: &Coordinates) -> Self {
        Self::illegal_state(format!("Could not find load balancer: {service}."))
    }

    /// What a cluster answered, as kubectl would have said it.
    pub fn kubectl(message: impl Into<String>) -> Self {
        Self { exception: "KubectlException", message: message.into() }
    }
}

impl From<Unsupported> for Failure {
    fn from(unsupported: Unsupported) -> Self {
        Self::illegal_argument(unsupported.to_string())
    }
}
