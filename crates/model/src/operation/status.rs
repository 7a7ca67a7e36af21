//! Kubernetes' `Status`: an error of the API server, the agent or the hub, shown as kubectl shows errors of servers and
//! its own.

use std::fmt;

use serde::Deserialize;

use super::{KubectlContext, StatusSource};

/// Error of the API server, or of the agent or hub in front of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Status {
    /// HTTP status.
    pub code: u16,
    /// Reason, such as `NotFound`.
    pub reason: String,
    /// Message for people.
    pub message: String,
    details: Option<Details>,
    /// Mark of the agent or the hub; none for the API server.
    source: Option<String>,
    /// Step that was refused, if it was sent beside the status.
    #[serde(skip)]
    context: Option<KubectlContext>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Details {
    name: String,
    kind: String,
    causes: Vec<Cause>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Cause {
    reason: String,
    field: String,
    message: String,
}

/// Action of kubectl that a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KubectlAction {
    /// `apply`, not yet known to create or to patch.
    Applying,
    /// Any other, by the word that kubectl uses, such as `creating`.
    Other(&'static str),
}

/// Help for conflicts with other field managers.
const ABOUT_MANAGERS: &str = "\
To take these fields from their managers, apply again with --force-conflicts. To leave them as they are, take them
out of the manifest. To share them, give them the values that they have.";

// === impl Status ===

impl Status {
    /// `Status` of the hub, without details.
    pub fn new(code: u16, reason: impl Into<String>, message: impl Into<String>) -> Self {
        let source = StatusSource::Hub.mark().map(str::to_owned);
        Self { code, reason: reason.into(), message: message.into(), source, ..Self::default() }
    }

    /// Source of this status.
    pub fn source(&self) -> StatusSource {
        StatusSource::of(self.source.as_deref())
    }

    /// Parses a body; none if it is no `Status`.
    pub fn read(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        let Kind { kind } = serde_json::from_slice(body).ok()?;
        (kind == "Status").then(|| serde_json::from_slice(body).ok()).flatten()
    }

    /// The same, refused during this step.
    #[must_use]
    pub fn during(self, context: Option<KubectlContext>) -> Self {
        Self { context, ..self }
    }

    /// Warnings to show before the error.
    pub fn warnings(&self) -> &[String] {
        self.context.as_ref().map(|context| &*context.warnings).unwrap_or_default()
    }

    /// Prefixes the message with the action and its file, as kubectl does: `error when deleting "web.yaml": …`. A step
    /// that the agent reported takes precedence. Of an apply that the API server itself refuses, kubectl shows the error
    /// alone.
    #[must_use]
    pub fn about(mut self, action: KubectlAction, source: &str) -> Self {
        let is_unframed = self.source.is_none() && action == KubectlAction::Applying;
        let of_action = || (!is_unframed).then(|| KubectlContext::new(action.word()));
        if let Some(context) = self.context.take().or_else(of_action) {
            self.message.insert_str(0, &context.with(source));
        }
        self
    }

    /// Causes, each once.
    fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        for Cause { field, message, .. } in self.details.iter().flat_map(|details| &details.causes) {
            let cause = format!("{field}: {message}");
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        causes
    }

    /// Whether it is a conflict with other field managers.
    pub fn is_about_managers(&self) -> bool {
        let mut causes = self.details.iter().flat_map(|details| &details.causes);
        self.reason == "Conflict" && causes.any(|cause| cause.reason == "FieldManagerConflict")
    }

    /// Writes an invalid object as kubectl does: its name, and the causes.
    fn invalid(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let causes = self.causes();
        match &self.details {
            Some(Details { name, kind, .. }) if !name.is_empty() || !kind.is_empty() => {
                write!(f, "The {kind} {name:?} is invalid")?;
            }
            _ if causes.is_empty() && !self.message.is_empty() => {
                return write!(f, "The request is invalid: {}", self.message);
            }
            _ => f.write_str("The request is invalid")?,
        }
        match &causes[..] {
            [] => Ok(()),
            [only] => write!(f, ": {only}"),
            several => {
                f.write_str(": ")?;
                several.iter().try_for_each(|cause| write!(f, "\n* {cause}"))
            }
        }
    }
}

// === impl KubectlAction ===

impl KubectlAction {
    /// Word that kubectl uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Applying => "applying",
            Self::Other(word) => word,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, message, .. } = self;
        match reason.as_str() {
            _ if self.source.is_some() => write!(f, "error: {message}"),
            "Invalid" => self.invalid(f),
            _ if self.is_about_managers() => write!(f, "error: {message}\n{ABOUT_MANAGERS}"),
            "" => write!(f, "Error from server: {message}"),
            _ => write!(f, "Error from server ({reason}): {message}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(reason: &str, message: &str, details: &serde_json::Value) -> Status {
        let body = json!({ "kind": "Status", "code": 400, "reason": reason, "message": message, "details": details });
        Status::read(body.to_string().as_bytes()).unwrap()
    }

    fn ours(reason: &str, message: &str) -> Status {
        Status { source: Some("spindrift-agent".to_owned()), ..status(reason, message, &json!(null)) }
    }

    #[test]
    fn refusals_are_shown_as_kubectl_shows_them() {
        let nothing = json!(null);
        let one = json!({ "kind": "Deployment", "name": "web", "causes": [{ "field": "spec.replicas", "message": "no" }] });
        let two = json!({ "kind": "Deployment", "name": "web", "causes": [
            { "field": "a", "message": "no" }, { "field": "a", "message": "no" }, { "field": "b", "message": "nor" }] });
        for (reason, message, details, expected) in [
            ("NotFound", "no such pod", &json!({}), "Error from server (NotFound): no such pod"),
            ("NotFound", "no such path", &nothing, "Error from server (NotFound): no such path"),
            ("", "what?", &nothing, "Error from server: what?"),
            ("Invalid", "long", &one, "The Deployment \"web\" is invalid: spec.replicas: no"),
            ("Invalid", "long", &two, "The Deployment \"web\" is invalid: \n* a: no\n* b: nor"),
            ("Invalid", "long", &json!({ "kind": "Pod", "name": "x" }), "The Pod \"x\" is invalid"),
            ("Invalid", "all of it", &nothing, "The request is invalid: all of it"),
            ("Conflict", "it has changed", &json!({}), "Error from server (Conflict): it has changed"),
        ] {
            assert_eq!(status(reason, message, details).to_string(), expected);
        }
        let theirs =
            json!({ "causes": [{ "reason": "FieldManagerConflict", "field": ".spec", "message": "hers" }] });
        let conflict = status("Conflict", "Apply failed with 1 conflict: .spec", &theirs).to_string();
        assert!(conflict.starts_with("error: Apply failed with 1 conflict: .spec\nTo take"), "{conflict}");
        for reason in ["NotFound", "Invalid", "BadRequest", "InternalError", "OutcomeUnknown"] {
            assert_eq!(ours(reason, "no").to_string(), "error: no", "our words are not the server's");
        }
        let forbidden = || status("Forbidden", "no", &nothing);
        let during = forbidden().during(Some(KubectlContext::new("creating")));
        let (applying, deleting) = (KubectlAction::Applying, KubectlAction::Other("deleting"));
        for (refused, action, expected) in [
            (during, applying, "Error from server (Forbidden): error when creating \"web.yaml\": no"),
            (forbidden(), applying, "Error from server (Forbidden): no"),
            (forbidden(), deleting, "Error from server (Forbidden): error when deleting \"web.yaml\": no"),
            (ours("Forbidden", "no"), applying, "error: error when applying \"web.yaml\": no"),
        ] {
            assert_eq!(refused.about(action, "web.yaml").to_string(), expected);
        }
    }

    #[test]
    fn other_bodies_are_no_status() {
        for body in ["", "<html>", "{}", r#"{"kind":"Pod"}"#, r#"{"status":404,"message":"no"}"#] {
            assert_eq!(Status::read(body.as_bytes()), None, "{body}");
        }
    }
}
