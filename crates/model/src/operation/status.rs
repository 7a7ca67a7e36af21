//! Kubernetes' `Status`: why something was not done, in the API server's words or in our own, shown as kubectl shows what
//! servers say and what it says itself.

use std::fmt;

use serde::Deserialize;

use super::Doing;

/// A refusal, by the API server or by whoever stands before it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Status {
    /// An HTTP status.
    pub code: u16,
    /// In a word, such as `NotFound`.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    details: Option<Details>,
    /// The agent or the hub, if the words are theirs.
    source: Option<String>,
    /// What was being done, where it is told beside the status.
    #[serde(skip)]
    doing: Option<Doing>,
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

/// What can be done about fields that somebody else manages.
const ABOUT_MANAGERS: &str = "\
To take these fields from their managers, apply again with --force-conflicts. To leave them as they are, take them
out of the manifest. To share them, give them the values that they have.";

// === impl Status ===

impl Status {
    /// What an apply does, as far as the command line knows.
    pub const APPLYING: &str = "applying";

    /// One of the hub's own, without details.
    pub fn new(code: u16, reason: impl Into<String>, message: impl Into<String>) -> Self {
        let source = Some("spindrift-hub".to_owned());
        Self { code, reason: reason.into(), message: message.into(), source, ..Self::default() }
    }

    /// Whether these are the words of the API server, and not of whoever stands before it.
    pub fn is_of_api_server(&self) -> bool {
        self.source.is_none()
    }

    /// A body, if it is a `Status`.
    pub fn read(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        let Kind { kind } = serde_json::from_slice(body).ok()?;
        (kind == "Status").then(|| serde_json::from_slice(body).ok()).flatten()
    }

    /// The same, refused while this was being done.
    #[must_use]
    pub fn during(self, doing: Option<Doing>) -> Self {
        Self { doing, ..self }
    }

    /// What the user is warned of before.
    pub fn warnings(&self) -> &[String] {
        self.doing.as_ref().map(|doing| &*doing.warnings).unwrap_or_default()
    }

    /// Says what was being done with which file, as kubectl does: `error when deleting "web.yaml": …`. The agent knows
    /// better what it was, if it says something. Of what the API server applies itself, kubectl tells only the refusal.
    #[must_use]
    pub fn about(mut self, doing: &str, source: &str) -> Self {
        let is_unframed = self.source.is_none() && doing == Self::APPLYING;
        if let Some(doing) = self.doing.take().or_else(|| (!is_unframed).then(|| Doing::new(doing))) {
            self.message.insert_str(0, &doing.with(source));
        }
        self
    }

    /// Each field that is wrong, once.
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

    /// Whether fields belong to others, who would have to be overruled.
    fn is_about_managers(&self) -> bool {
        let mut causes = self.details.iter().flat_map(|details| &details.causes);
        self.reason == "Conflict" && causes.any(|cause| cause.reason == "FieldManagerConflict")
    }

    /// What kubectl makes of an object that is not valid: its name, and what is wrong with it.
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
        let during = forbidden().during(Some(Doing::new("creating")));
        for (refused, doing, expected) in [
            (during, Status::APPLYING, "Error from server (Forbidden): error when creating \"web.yaml\": no"),
            (forbidden(), Status::APPLYING, "Error from server (Forbidden): no"),
            (forbidden(), "deleting", "Error from server (Forbidden): error when deleting \"web.yaml\": no"),
            (ours("Forbidden", "no"), Status::APPLYING, "error: error when applying \"web.yaml\": no"),
        ] {
            assert_eq!(refused.about(doing, "web.yaml").to_string(), expected);
        }
    }

    #[test]
    fn other_bodies_are_no_status() {
        for body in ["", "<html>", "{}", r#"{"kind":"Pod"}"#, r#"{"status":404,"message":"no"}"#] {
            assert_eq!(Status::read(body.as_bytes()), None, "{body}");
        }
    }
}
