//! Why a verb did not do what it was asked to: always as a Kubernetes `Status`.

use bytes::Bytes;
use serde_json::Value;
use spindrift_kubernetes::{ApiError, Call};
use spindrift_model::{Doing, Outcome, Speaker};
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
        doing: Option<Doing>,
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
    pub fn during(self, what: Doing) -> Self {
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

    /// The same about a Secret: an API server that cannot make sense of a patch quotes all of it, and what it says is kept
    /// in the hub's record.
    #[must_use]
    pub fn without_values(self) -> Self {
        let Self::Refused { code, status, doing } = self else { return self };
        let Ok(mut document) = serde_json::from_slice::<Value>(&status) else {
            return Self::Refused { code, status, doing };
        };
        let mut hidden = false;
        let causes = document.pointer_mut("/details/causes").and_then(Value::as_array_mut);
        for cause in causes.into_iter().flatten() {
            hidden |= hide(&mut cause["message"]);
        }
        hidden |= hide(&mut document["message"]);
        // What holds nothing is passed on as it came.
        let status = if hidden { document.to_string().into() } else { status };
        Self::Refused { code, status, doing }
    }

    /// What goes with it to the hub: what was being done.
    pub fn body(&mut self) -> Bytes {
        match self {
            Self::Refused { doing, .. } => {
                doing.take().map(|doing| doing.to_json().into()).unwrap_or_default()
            }
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

/// Hides a quoted object in a message, from where it begins to the last word after it.
fn hide(message: &mut Value) -> bool {
    let Some(text) = message.as_str() else { return false };
    let begin = ["Invalid value: \"map[", "Invalid value: \"{", " found in #"]
        .iter()
        .find_map(|quote| text.find(quote));
    let Some(begin) = begin else { return false };
    let end = text.rfind("\": ").filter(|end| *end > begin).map_or(text.len(), |end| end + 1);
    let rest = text.get(end..).unwrap_or_default();
    *message = format!("{}Invalid value: \"…\"{rest}", text.get(..begin).unwrap_or_default()).into();
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_api_server_quotes_of_a_secret_is_hidden_and_other_words_stay() {
        let quoted = r#"patch: Invalid value: "map[stringData:map[a:canary] x:\"y\": z]": strict decoding error: unknown field "x""#;
        let refused = |message: &str| {
            let status = json!({ "code": 422, "message": message, "details": { "causes": [{ "field": "patch", "message": message }] } });
            Failure::Refused { code: 422, status: status.to_string().into(), doing: None }
        };
        let hidden = r#"patch: Invalid value: "…": strict decoding error: unknown field "x""#;
        assert_eq!(refused(quoted).without_values(), refused(hidden));
        let broken = r#"Secret in version "v1" cannot be handled, error found in #10 byte of ...|canary|..., bigger context ...|"a":"canary"|..."#;
        let Failure::Refused { status, .. } = refused(broken).without_values() else {
            panic!("it is refused")
        };
        assert!(!String::from_utf8_lossy(&status).contains("canary"));
        for plain in [r#"type: Invalid value: "kubernetes.io/tls": field is immutable"#, "no"] {
            assert_eq!(refused(plain).without_values(), refused(plain), "{plain}");
        }
    }
}
