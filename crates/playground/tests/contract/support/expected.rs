//! Expected responses.

use serde_json::{Value, json};

/// One cause of a 422: reason, field, message.
pub(crate) struct Cause(pub(crate) &'static str, pub(crate) &'static str, pub(crate) &'static str);

/// Body of an error; reason and details may be missing (`""` and null).
pub(crate) fn failure(code: u16, reason: &str, message: &str, details: Value) -> Value {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": code,
    });
    if !reason.is_empty() {
        status["reason"] = reason.into();
    }
    if !details.is_null() {
        status["details"] = details;
    }
    status
}

/// Body of a 422 of a kind (`ConfigMap`, `Deployment.apps`) with one cause.
pub(crate) fn invalid(kind: &str, name: &str, Cause(reason, field, message): Cause) -> Value {
    let mut details = json!({"causes": [{"reason": reason, "field": field, "message": message}]});
    if !name.is_empty() {
        details["name"] = name.into();
    }
    match kind.split_once('.') {
        Some((kind, group)) => {
            details["kind"] = kind.into();
            details["group"] = group.into();
        }
        None => details["kind"] = kind.into(),
    }
    failure(422, "Invalid", &format!("{kind} {name:?} is invalid: {field}: {message}"), details)
}

/// An object without the values that differ from test to test.
pub(crate) fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace"] {
            metadata.remove(field);
        }
    }
    object
}
