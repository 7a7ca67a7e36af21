//! Accessors for objects with optional fields, by the API conventions.

use jiff::Timestamp;
use serde_json::{Map, Value};

pub(crate) use crate::object::{
    is_terminating as is_deleted, list, name, namespace, text, timestamp as stamp, uid,
};

pub(crate) fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer)?.as_i64()
}

/// A number; 0 if absent.
pub(crate) fn count(object: &Value, pointer: &str) -> i64 {
    number(object, pointer).unwrap_or(0)
}

pub(crate) fn flag(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).and_then(Value::as_bool).unwrap_or(false)
}

/// One label. Label names contain slashes, so that a JSON pointer does not reach them.
pub(crate) fn label<'a>(object: &'a Value, name: &str) -> &'a str {
    entry(object, "/metadata/labels", name)
}

pub(crate) fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    entry(object, "/metadata/annotations", name)
}

fn entry<'a>(object: &'a Value, map: &str, name: &str) -> &'a str {
    object.pointer(map).and_then(|map| map.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// Sets a nested field and creates missing objects on the way.
pub(crate) fn set(object: &mut Value, path: &[&str], value: impl Into<Value>) {
    let mut place = object;
    for step in path {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Some(map) = place.as_object_mut() else { return };
        place = map.entry(*step).or_insert(Value::Null);
    }
    *place = value.into();
}

pub(crate) fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    text(object, pointer).parse().ok()
}

/// Owner reference of the controlling owner.
pub(crate) fn controller(object: &Value) -> Option<&Value> {
    list(object, "/metadata/ownerReferences").iter().find(|owner| flag(owner, "/controller"))
}

pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    list(object, "/status/conditions").iter().find(|condition| text(condition, "/type") == kind)
}

pub(crate) fn has_condition(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| text(condition, "/status") == "True")
}

/// Whether the pod is neither finished nor terminating.
pub(crate) fn is_active(pod: &Value) -> bool {
    !is_deleted(pod) && !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    has_condition(pod, "Ready")
}

/// Whether labels satisfy a selector's `matchLabels`.
pub(crate) fn matches(selector: &Value, labels: &Value) -> bool {
    let Some(wanted) = selector.as_object() else { return false };
    !wanted.is_empty() && wanted.iter().all(|(name, value)| labels.get(name) == Some(value))
}

/// An IntOrString that may be a percentage, such as `25%`, of `whole`; limited to the 32 bits of other counts.
pub(crate) fn share(value: Option<&Value>, whole: i64, default: &str, round: Rounding) -> i64 {
    let part = |text: &str| {
        let Some(percent) = text.strip_suffix('%') else { return text.parse().unwrap_or(0) };
        let hundredths = percent.parse::<i64>().unwrap_or(0).saturating_mul(whole);
        match round {
            Rounding::Up => hundredths.saturating_add(99) / 100,
            Rounding::Down => hundredths / 100,
        }
    };
    let count = match value {
        Some(Value::Number(number)) => number.as_i64().unwrap_or(0),
        Some(Value::String(text)) => part(text),
        _ => part(default),
    };
    count.clamp(i64::from(i32::MIN), i64::from(i32::MAX))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    Up,
    Down,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_round_as_the_deployment_controller_does() {
        let percent = json!("25%");
        assert_eq!(share(Some(&percent), 3, "0", Rounding::Up), 1);
        assert_eq!(share(Some(&percent), 3, "0", Rounding::Down), 0);
        assert_eq!(share(Some(&json!(2)), 3, "0", Rounding::Down), 2);
        assert_eq!(share(Some(&json!("9223372036854775807%")), 3, "0", Rounding::Up), i64::from(i32::MAX));
        assert_eq!(share(None, 8, "25%", Rounding::Down), 2);
    }

    #[test]
    fn absent_fields_read_as_nothing_and_can_be_set() {
        let mut object = json!({ "metadata": { "labels": { "a/b": "c" } } });
        assert_eq!((text(&object, "/spec/x"), count(&object, "/spec/y")), ("", 0));
        assert_eq!(label(&object, "a/b"), "c");
        set(&mut object, &["status", "replicas"], 2);
        assert_eq!(count(&object, "/status/replicas"), 2);
    }
}
