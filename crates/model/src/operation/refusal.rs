//! Refusals in Kubernetes' form, with a mark on those that are our own.
//!
//! What an API server says is passed on as it is. What an agent or a hub says looks the same to those who read codes and
//! reasons; the field `source`, which no API server writes, tells whose words they are.

use bytes::Bytes;
use serde_json::json;

/// Whose words a refusal is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The agent, before or after it asked the API server.
    Agent,
    /// The hub, before or after it asked an agent.
    Hub,
    /// Somebody between the agent and the API server, in words of no form.
    Foreign,
}

// === impl Speaker ===

impl Speaker {
    /// A `Status` in JSON: the code, the reason as a word, the reason as a sentence.
    pub fn refusal(self, code: u16, reason: &str, message: &str) -> Bytes {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {},
            "status": "Failure", "message": message, "reason": reason, "code": code,
        });
        if let Some(source) = self.mark() {
            status["source"] = source.into();
        }
        status.to_string().into()
    }

    fn mark(self) -> Option<&'static str> {
        match self {
            Self::Agent => Some("spindrift-agent"),
            Self::Hub => Some("spindrift-hub"),
            Self::Foreign => None,
        }
    }
}
