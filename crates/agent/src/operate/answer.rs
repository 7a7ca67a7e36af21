//! Answers of verbs: a document, or pieces that were sent on the way.

use std::future::Future;

use bytes::Bytes;
use serde_json::Value;
use spindrift_model::Content;

/// Answer of a verb that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status of the API server.
    pub code: u16,
    /// Rest of the answer; empty if all was sent to the sink.
    pub body: Bytes,
}

/// Sink for the pieces of an answer that is too long to be held; the verb waits while the hub is slow.
pub trait AnswerSink: Send + Sync {
    /// Sets the media type; before the first piece, or not at all (JSON).
    fn begin(&self, content: Content);

    /// Sends the next piece; an error if the operation has no reader any more.
    fn send(&self, piece: Bytes) -> impl Future<Output = Result<(), Gone>> + Send;
}

/// The answer has no reader any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer has no reader any more")]
pub struct Gone;

// === impl Answer ===

impl Answer {
    /// Answer of one document.
    pub fn document(code: u16, document: &Value) -> Self {
        Self { code, body: document.to_string().into() }
    }

    /// Answer that was sent in pieces.
    pub fn sent(code: u16) -> Self {
        Self { code, body: Bytes::new() }
    }
}
