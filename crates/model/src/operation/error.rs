//! Errors of operations: a kind to decide by, and a Kubernetes `Status` to show.
//!
//! ```text
//! API server's error ──▶ OperationError (agent ──wire──▶ hub ──row──▶ hub) ──▶ REST response
//! ```
//!
//! Callers decide by [`ErrorKind`], never by the message. The kind travels on the wire and is stored with the row as a
//! word; releases before 0.2 wrote none, so that `legacy` infers it from the `Status`.

mod kind;
mod legacy;
#[cfg(test)]
mod tests;

use std::fmt;

use bytes::Bytes;

use super::{KubectlContext, Status, StatusSource};

pub use kind::ErrorKind;

/// Error of an operation. Every one has a `Status`: the API server's own, or one by the agent or the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationError {
    /// Machine-readable kind.
    pub kind: ErrorKind,
    /// HTTP status.
    pub code: u16,
    /// `Status` in JSON, exactly as its source wrote it.
    pub status: Bytes,
    /// Step that failed, if kubectl reports one: `error when creating "web.yaml": …`. Agents send it as the body.
    pub context: Option<Box<KubectlContext>>,
}

/// State that an operation ends in when it does not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedState {
    /// Refused; nothing was changed, except as the status reports.
    Failed,
    /// The change may or may not have been made.
    Unknown,
    /// Cancelled before anything was changed.
    Cancelled,
    /// Its deadline passed before anything was changed.
    Expired,
}

// === impl OperationError ===

impl OperationError {
    /// Error of the agent itself.
    pub fn agent(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self::of_source(StatusSource::Agent, kind, message.as_ref())
    }

    /// Error of the hub itself.
    pub fn hub(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self::of_source(StatusSource::Hub, kind, message.as_ref())
    }

    fn of_source(source: StatusSource, kind: ErrorKind, message: &str) -> Self {
        let code = kind.code();
        let status = source.status(code, kind.reason(), message);
        Self { kind, code, status, context: None }
    }

    /// Error of the agent with a code and reason of its own, where those of the kind do not fit.
    pub fn agent_with(kind: ErrorKind, code: u16, reason: &str, message: impl AsRef<str>) -> Self {
        let status = StatusSource::Agent.status(code, reason, message.as_ref());
        Self { kind, code, status, context: None }
    }

    /// Error of the API server: its `Status`, verbatim.
    pub fn api_server(code: u16, status: Bytes) -> Self {
        Self { kind: ErrorKind::ApiServer, code, status, context: None }
    }

    /// Error as received or stored. `kind` is the kind's word; agents and hubs before 0.2 wrote none, and newer ones may
    /// write words that this release does not define.
    pub fn received(kind: &str, code: u16, status: Bytes) -> Self {
        let kind = ErrorKind::parse(kind).unwrap_or_else(|| legacy::kind_of(code, &status));
        Self { kind, code, status, context: None }
    }

    /// The change may or may not have been made, for this reason.
    pub fn unknown(reason: impl AsRef<str>) -> Self {
        Self::hub(ErrorKind::OutcomeUnknown, reason)
    }

    /// Cancelled before anything was changed.
    pub fn cancelled() -> Self {
        Self::hub(ErrorKind::Cancelled, "the operation was cancelled before anything was changed")
    }

    /// The deadline passed before anything was changed.
    pub fn deadline_exceeded() -> Self {
        Self::hub(ErrorKind::DeadlineExceeded, "deadline exceeded before anything was changed")
    }

    /// The same, with the step during which it was refused. Other outcomes have none.
    #[must_use]
    pub fn during(self, context: KubectlContext) -> Self {
        let context = (self.state() == FailedState::Failed).then(|| Box::new(context));
        Self { context, ..self }
    }

    /// The `Status`, parsed. A body that is none becomes the message of one.
    pub fn parsed(&self) -> Status {
        let text = || Status::new(self.code, self.kind.reason(), String::from_utf8_lossy(&self.status));
        Status::read(&self.status).unwrap_or_else(text)
    }

    /// Message of the `Status`.
    pub fn message(&self) -> String {
        self.parsed().message
    }

    /// State that an operation ends in with this error.
    pub fn state(&self) -> FailedState {
        self.kind.state()
    }

    /// Whether the operation was accepted, sent and refused: by the API server, the agent, or the hub.
    pub fn is_failure(&self) -> bool {
        self.state() == FailedState::Failed && !self.kind.is_without_outcome()
    }

    /// Whether the API server has no such object. A kind or an account that does not exist is another matter.
    pub fn is_not_found(&self) -> bool {
        self.kind == ErrorKind::ApiServer && self.code == 404
    }

    /// Whether the API server does not authorize the account.
    pub fn is_forbidden(&self) -> bool {
        self.kind == ErrorKind::ApiServer && self.code == 403
    }

    /// Text that kubectl would have written to its standard error.
    pub fn stderr(&self) -> String {
        format!("{self}\n")
    }
}

impl fmt::Display for OperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.state() {
            FailedState::Unknown => write!(f, "error: outcome unknown: {}", self.message()),
            FailedState::Failed | FailedState::Cancelled | FailedState::Expired => self.parsed().fmt(f),
        }
    }
}

// === impl FailedState ===

impl FailedState {
    /// Word used in history and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }
}
