//! What came of an operation.

use std::time::Duration;

use bytes::Bytes;

/// How an operation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// What came of it.
    pub outcome: Outcome,
    /// How long the agent took.
    pub took: Duration,
}

/// What came of it. Exactly one of these is true of every operation that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Done; the HTTP status is the API server's own (201: created).
    Succeeded {
        /// The HTTP status.
        code: u16,
    },
    /// Refused, by the API server or by us; nothing beyond what the status tells was changed.
    Failed {
        /// The HTTP status.
        code: u16,
        /// A `Status` in JSON, as the API server wrote it.
        status: Bytes,
    },
    /// It may or may not have been done, and nobody can tell any more.
    Unknown {
        /// Why nobody can tell.
        reason: String,
    },
    /// Called off before anything was changed.
    Cancelled,
    /// Its time was over before anything was changed.
    Expired,
}

/// What the answer of an operation is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// One JSON document.
    #[default]
    Json,
    /// JSON documents, one on each line, as they come about.
    JsonLines,
    /// What a container wrote.
    Text,
}

// === impl Outcome ===

impl Outcome {
    /// As history and metrics call it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Succeeded { .. } => "completed",
            Self::Failed { .. } => "failed",
            Self::Unknown { .. } => "unknown",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }
}

// === impl Content ===

impl Content {
    /// As in an HTTP header.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::JsonLines => "application/jsonl",
            Self::Text => "text/plain; charset=utf-8",
        }
    }
}
