//! Why a verb did not do what it was asked to: always as a Kubernetes `Status`.

use bytes::Bytes;
use serde_json::json;
use spindrift_kubernetes::{ApiError, Call};
use spindrift_model::Outcome;
use spindrift_process::report;

/// A verb that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Refused: by the API server, in its own words, or by us.
    Refused {
        /// The HTTP status.
        code: u16,
        /// A `Status` in JSON.
        status: Bytes,
    },
    /// A call that may have changed something broke off: nobody knows.
    Unknown(String),
    /// Called off before anything was changed.
    Cancelled,
    /// The time was over before anything was changed.
    Expired,
}

// === impl Failure ===

impl Failure {
    /// A refusal of our own, in Kubernetes' form: the code, the reason as a word, the reason as a sentence.
    pub fn ours(code: u16, reason: &str, message: impl Into<String>) -> Self {
        let message: String = message.into();
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": "Failure", "message": message, "reason": reason, "code": code,
        });
        Self::Refused { code, status: status.to_string().into() }
    }

    /// A call that changes nothing failed.
    pub fn of_read(error: &ApiError) -> Self {
        match error {
            ApiError::Refused { source, .. } => Self::passed_on(source),
            ApiError::TimedOut { .. } => Self::ours(504, "Timeout", report(error)),
            _ => Self::ours(502, "BadGateway", report(error)),
        }
    }

    /// A call that changes something failed: without an answer, nobody knows whether it did.
    pub fn of_mutation(error: &ApiError) -> Self {
        match error {
            ApiError::Refused { source, .. } => Self::passed_on(source),
            ApiError::Build { .. } => Self::ours(400, "BadRequest", report(error)),
            _ => Self::Unknown(report(error)),
        }
    }

    /// An answer of the API server that is not what Kubernetes answers.
    pub fn unreadable(call: &Call, malformed: &impl std::error::Error) -> Self {
        Self::ours(502, "BadGateway", format!("the answer to {call} cannot be read: {}", report(malformed)))
    }

    fn passed_on(status: &spindrift_kubernetes::Status) -> Self {
        let is_json = serde_json::from_slice::<serde_json::Map<_, _>>(&status.document).is_ok();
        if is_json {
            return Self::Refused { code: status.code, status: status.document.clone() };
        }
        // Something between us and the API server spoke, in no form of Kubernetes'.
        Self::ours(status.code, &status.reason, status.message.clone())
    }

    /// As it is told to the hub.
    pub fn into_outcome(self) -> Outcome {
        match self {
            Self::Refused { code, status } => Outcome::Failed { code, status },
            Self::Unknown(reason) => Outcome::Unknown { reason },
            Self::Cancelled => Outcome::Cancelled,
            Self::Expired => Outcome::Expired,
        }
    }
}
