//! What the hub itself says no to, in Kubernetes' form.

use bytes::Bytes;
use spindrift_model::{AccountName, Outcome, Speaker, Status};

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

const STORE: &str = "the hub's store did not answer; nothing was sent; try again";
const WITHDRAWN: &str =
    "the hub's store did not answer; nothing was sent, and nothing will be under this id; try again";

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
        Self::new(503, "ServiceUnavailable", STORE)
    }

    /// The store did not say whether there is a row: if there is, it is ended, and nobody carries it out.
    pub(super) fn withdrawn() -> Self {
        Self::new(503, "ServiceUnavailable", WITHDRAWN)
    }

    /// Whether it is the store's fault, by what the row of an operation says.
    pub(crate) fn is_of_store(status: &Status) -> bool {
        status.code == 503 && status.message == STORE
    }

    /// Whether nothing is wrong with the operation: nothing was sent, and it may be taken on a moment later. Not where a
    /// row may have been left behind: until it is found, a hub that is started anew may take it up.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self.code, 429 | 503) && self.message != WITHDRAWN
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
