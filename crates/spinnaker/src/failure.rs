//! Failure of an operation: the name of a Java exception, which status lines contain, and a message.

use crate::{Coordinates, Unsupported};

/// Failure of an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Exception that Clouddriver would have thrown.
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

    /// Traffic cannot be enabled or disabled for an object that does not exist.
    pub fn no_such_manifest(target: &Coordinates) -> Self {
        Self::illegal_state(format!("Could not find kubernetes manifest: {target}"))
    }

    pub fn no_such_load_balancer(service: &Coordinates) -> Self {
        Self::illegal_state(format!("Could not find load balancer: {service}."))
    }

    /// Error of the API server in kubectl's words.
    pub fn kubectl(message: impl Into<String>) -> Self {
        Self { exception: "KubectlException", message: message.into() }
    }
}

impl From<Unsupported> for Failure {
    fn from(unsupported: Unsupported) -> Self {
        Self::illegal_argument(unsupported.to_string())
    }
}
