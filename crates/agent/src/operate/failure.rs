//! Why a verb did not do what it was asked to: always as a Kubernetes `Status`.

use bytes::Bytes;
use spindrift_kubernetes::{ApiError, Call};
use spindrift_model::{Outcome, Speaker};
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
        /// What was being done, where kubectl says so: `error when creating "web.yaml": …`.
        doing: Option<String>,
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
        Self::Refused { code, status: Speaker::Agent.refusal(code, reason, &message.into()), doing: None }
    }

    /// The same, refused while this was being done.
    #[must_use]
    pub fn during(self, what: String) -> Self {
        match self {
            Self::Refused { code, status, .. } => Self::Refused { code, status, doing: Some(what) },
            other => other,
        }
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
            return Self::Refused { code: status.code, status: status.document.clone(), doing: None };
        }
        let document = Speaker::Foreign.refusal(status.code, &status.reason, &status.message);
        Self::Refused { code: status.code, status: document, doing: None }
    }

    /// What goes with it to the hub: what was being done.
    pub fn body(&mut self) -> Bytes {
        match self {
            Self::Refused { doing, .. } => doing.take().unwrap_or_default().into(),
            _ => Bytes::new(),
        }
    }

    /// As it is told to the hub.
    pub fn into_outcome(self) -> Outcome {
        match self {
            Self::Refused { code, status, .. } => Outcome::Failed { code, status },
            Self::Unknown(reason) => Outcome::Unknown { reason },
            Self::Cancelled => Outcome::Cancelled,
            Self::Expired => Outcome::Expired,
        }
    }
}
