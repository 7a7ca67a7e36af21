//! What a verb answers: a document, or pieces that were sent on the way.

use std::future::Future;

use bytes::Bytes;
use serde_json::Value;
use spindrift_model::Content;

/// How a verb that succeeded ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status: the API server's own.
    pub code: u16,
    /// What is left to be said; empty if all was sent by the sink.
    pub body: Bytes,
}

/// Takes the pieces of an answer that is too long to be held, and makes the verb wait while the hub is slow.
pub trait AnswerSink: Send + Sync {
    /// Says what the answer is made of; before the first piece, or not at all (JSON).
    fn begin(&self, content: Content);

    /// Sends the next piece; an error if nobody wants it any more.
    fn send(&self, piece: Bytes) -> impl Future<Output = Result<(), Gone>> + Send;
}

/// Nobody waits for the answer any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nobody waits for the answer any more")]
pub struct Gone;

// === impl Answer ===

impl Answer {
    /// A document.
    pub fn document(code: u16, document: &Value) -> Self {
        Self { code, body: document.to_string().into() }
    }

    /// All was sent already.
    pub fn sent(code: u16) -> Self {
        Self { code, body: Bytes::new() }
    }
}
