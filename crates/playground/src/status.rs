//! API errors: a `Status` with the messages of the real API server.

use std::fmt;

use serde_json::{Value, json};

use crate::catalogue::Resource;

/// Error of an API request.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// Machine-readable reason, such as `NotFound`; empty if there is none.
    pub reason: &'static str,
    /// Message for users.
    pub message: String,
    /// The `details` field; null if there is none.
    pub details: Value,
    /// Token with which an expired list can continue, for `metadata.continue`.
    pub resume: Option<String>,
}

/// Error about one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub reason: &'static str,
    pub field: String,
    pub message: String,
}

// === impl Cause ===

impl Cause {
    fn to_value(&self) -> Value {
        json!({"reason": self.reason, "message": self.message, "field": self.field})
    }

    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() { "Required value".into() } else { format!("Required value: {why}") };
        Self { reason: "FieldValueRequired", field: field.into(), message }
    }

    pub fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            field: field.into(),
            message: format!("Invalid value: {value}: {why}"),
        }
    }

    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self { reason: "FieldValueForbidden", field: field.into(), message: format!("Forbidden: {why}") }
    }

    pub fn unsupported(field: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let known: Vec<String> = supported.iter().map(|word| format!("{word:?}")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", known.join(", "));
        Self { reason: "FieldValueNotSupported", field: field.into(), message }
    }
}

// === impl Status ===

impl Status {
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null, resume: None }
    }

    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.table);
        Self::new(404, "NotFound", message).with_details(details(resource, name))
    }

    /// 404 for an unknown path.
    pub fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with_details(json!({}))
    }

    pub fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource.table);
        Self::new(409, "AlreadyExists", message).with_details(details(resource, name))
    }

    pub fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.table);
        Self::new(409, "Conflict", message).with_details(details(resource, name))
    }

    /// Conflict: another client changed the object in between.
    pub fn stale(resource: &Resource, name: &str) -> Self {
        Self::conflict(
            resource,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    pub fn invalid(resource: &Resource, name: &str, causes: &[Cause]) -> Self {
        let words: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let list = match words.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let kind = match resource.group.as_str() {
            "" => resource.kind.clone(),
            group => format!("{}.{group}", resource.kind),
        };
        let causes: Vec<Value> = causes.iter().map(Cause::to_value).collect();
        let mut details = json!({"name": name, "kind": resource.kind, "causes": causes});
        if name.is_empty() {
            remove(&mut details, "name");
        }
        if !resource.group.is_empty() {
            set(&mut details, "group", resource.group.as_str());
        }
        Self::new(422, "Invalid", format!("{kind} {name:?} is invalid: {list}")).with_details(details)
    }

    /// Options that exclude each other.
    pub(crate) fn invalid_options(kind: &str, causes: &[Cause]) -> Self {
        let words: Vec<String> =
            causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let list = if words.len() == 1 { words.concat() } else { format!("[{}]", words.join(", ")) };
        let causes: Vec<Value> = causes.iter().map(Cause::to_value).collect();
        Self::new(422, "Invalid", format!("{kind}.meta.k8s.io \"\" is invalid: {list}"))
            .with_details(json!({"group": "meta.k8s.io", "kind": kind, "causes": causes}))
    }

    pub fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = match name {
            "" => format!("{} is forbidden: {why}", resource.table),
            name => format!("{} {name:?} is forbidden: {why}", resource.table),
        };
        Self::new(403, "Forbidden", message).with_details(details(resource, name))
    }

    pub fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with_details(json!({}))
    }

    /// The resource version is older than the history.
    pub fn too_old(asked: u64, oldest: u64) -> Self {
        Self::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }

    /// The snapshot of a paged list has expired; with `resume` the list can continue with newer objects.
    pub fn continue_expired(resume: Option<String>) -> Self {
        let message = "The provided continue parameter is too old to display a consistent list result. You can \
                       start a new list without the continue parameter, or use the continue token in this response \
                       to retrieve the remainder of the results. Continuing with the provided token results in an \
                       inconsistent list - objects that were created, modified, or deleted between the time the \
                       first chunk was returned and now may show up in the list.";
        Self { resume, ..Self::new(410, "Expired", message) }
    }

    /// The resource version is in the future.
    pub fn too_large(asked: u64, current: u64) -> Self {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        let cause = json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"});
        Self::new(504, "Timeout", message).with_details(json!({"causes": [cause], "retryAfterSeconds": 1}))
    }

    pub fn too_many_requests(seconds: u32) -> Self {
        Self::new(429, "TooManyRequests", "too many requests, please try again later")
            .with_details(json!({"retryAfterSeconds": seconds}))
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "InternalError", format!("Internal error occurred: {}", message.into()))
    }

    /// Body of the response.
    pub fn to_value(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            set(&mut body, "reason", self.reason);
        }
        if !self.details.is_null() {
            set(&mut body, "details", self.details.clone());
        }
        if let Some(token) = &self.resume {
            set(&mut body, "metadata", json!({"continue": token}));
        }
        body
    }

    /// Seconds after which the client should retry.
    pub fn retry_after(&self) -> Option<u64> {
        self.details.get("retryAfterSeconds").and_then(Value::as_u64)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

fn details(resource: &Resource, name: &str) -> Value {
    let mut details = json!({"name": name, "group": resource.group, "kind": resource.plural});
    for key in ["name", "group"] {
        if details.get(key).and_then(Value::as_str) == Some("") {
            remove(&mut details, key);
        }
    }
    details
}

fn set(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object {
        fields.insert(key.into(), value.into());
    }
}

fn remove(object: &mut Value, key: &str) {
    if let Value::Object(fields) = object {
        fields.remove(key);
    }
}
