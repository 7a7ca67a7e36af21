//! What the hub itself says no to, in Kubernetes' form.

use bytes::Bytes;
use spindrift_model::{AccountName, Outcome, Speaker};

/// An operation that was not taken on, or did not get to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// In a word, as Kubernetes has them.
    pub reason: &'static str,
    /// In a sentence.
    pub message: String,
}

// === impl Refusal ===

impl Refusal {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into() }
    }

    pub(super) fn no_account(account: &AccountName) -> Self {
        Self::new(404, "NotFound", format!("there is no account {account}"))
    }

    pub(super) fn frozen(account: &AccountName, reason: &str) -> Self {
        let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        Self::new(423, "Locked", format!("account {account} is frozen{because}"))
    }

    pub(super) fn namespace(namespace: &str, account: &AccountName) -> Self {
        let message = format!(
            "namespace {namespace} has not been authorized in the configuration of account {account}"
        );
        Self::new(401, "Unauthorized", message)
    }

    pub(super) fn too_many(bound: &str) -> Self {
        Self::new(429, "TooManyRequests", format!("{bound}; try again later"))
    }

    pub(super) fn store() -> Self {
        Self::new(503, "ServiceUnavailable", "the hub's store did not answer; nothing was sent; try again")
    }

    /// A `Status` in JSON.
    pub fn document(&self) -> Bytes {
        let Self { code, reason, message } = self;
        Speaker::Hub.refusal(*code, reason, message)
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        Self::Failed { code: refusal.code, status: refusal.document() }
    }
}
