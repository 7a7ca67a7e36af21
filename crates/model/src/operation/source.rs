//! Source of a `Status`, with a mark on those that are our own.
//!
//! A `Status` of an API server is passed on verbatim. One of an agent or a hub looks the same to readers of codes and
//! reasons; the field `source`, which no API server writes, has its origin.

use bytes::Bytes;
use serde_json::json;

/// Source of a `Status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusSource {
    /// The API server, or a proxy in front of it whose answer was no `Status`.
    ApiServer,
    /// The agent, before or after its call to the API server.
    Agent,
    /// The hub, before or after it sent the operation to an agent.
    Hub,
}

// === impl StatusSource ===

impl StatusSource {
    /// Returns a `Status` in JSON: the code, the reason as a word, the message as a sentence.
    pub fn status(self, code: u16, reason: &str, message: &str) -> Bytes {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": "Failure", "message": message, "reason": reason, "code": code,
        });
        if let Some(source) = self.mark() {
            status["source"] = source.into();
        }
        status.to_string().into()
    }

    /// Value of the field `source`.
    pub(super) fn mark(self) -> Option<&'static str> {
        match self {
            Self::ApiServer => None,
            Self::Agent => Some("spindrift-agent"),
            Self::Hub => Some("spindrift-hub"),
        }
    }

    /// Source of a `Status` with this field.
    pub(super) fn of(mark: Option<&str>) -> Self {
        match mark {
            None => Self::ApiServer,
            mark if mark == Self::Hub.mark() => Self::Hub,
            Some(_) => Self::Agent,
        }
    }
}
