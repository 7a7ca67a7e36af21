//! Outcomes of operations.

use std::time::Duration;

use super::OperationError;

/// End of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Result.
    pub outcome: Outcome,
    /// Time that the agent took.
    pub took: Duration,
}

/// Result of an operation that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Done.
    Succeeded {
        /// HTTP status of the API server (201: created).
        code: u16,
    },
    /// Not done, or not known to be done: see [`OperationError::state`].
    Failed(OperationError),
}

/// Media type of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// One JSON document.
    #[default]
    Json,
    /// JSON documents, one on each line, as they become available.
    JsonLines,
    /// Output of a container.
    Text,
}

// === impl Ending ===

impl Ending {
    /// End that no agent took part in.
    pub fn without_agent(outcome: Outcome) -> Self {
        Self { outcome, took: Duration::ZERO }
    }
}

// === impl Outcome ===

impl Outcome {
    /// Word used in history and metrics.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Succeeded { .. } => "completed",
            Self::Failed(error) => error.state().word(),
        }
    }
}

impl From<OperationError> for Outcome {
    fn from(error: OperationError) -> Self {
        Self::Failed(error)
    }
}

// === impl Content ===

impl Content {
    /// Value of the HTTP header.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::JsonLines => "application/jsonl",
            Self::Text => "text/plain; charset=utf-8",
        }
    }
}
