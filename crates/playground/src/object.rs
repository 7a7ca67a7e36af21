//! Accessors for JSON objects whose schema is only partly known.

use serde_json::{Map, Value};
pub(crate) use spindrift_kubernetes::depth;

/// String at a JSON pointer; empty if absent.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// List at a JSON pointer; empty if absent.
pub(crate) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

pub(crate) fn resource_version(object: &Value) -> &str {
    text(object, "/metadata/resourceVersion")
}

pub(crate) fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|stamp| !stamp.is_null())
}

pub(crate) fn finalizers(object: &Value) -> Vec<String> {
    let words = list(object, "/metadata/finalizers");
    words.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Maximum nesting of an object; well below the parser's limit.
pub(crate) const MAX_DEPTH: usize = 100;

/// Fields of an object; any other value is replaced by an empty object.
pub(crate) fn fields(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(fields) => fields,
        _ => unreachable!("it was made an object"),
    }
}

/// Fields of the object under a key, created if absent.
pub(crate) fn child<'a>(value: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    fields(fields(value).entry(key).or_insert(Value::Null))
}

pub(crate) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    child(object, "metadata")
}

/// Sets a field, or removes it if the value is null.
pub(crate) fn assign(fields: &mut Map<String, Value>, key: &str, value: Value) {
    if value.is_null() {
        fields.remove(key);
    } else {
        fields.insert(key.to_owned(), value);
    }
}

/// Sets a field if it is absent.
pub(crate) fn default(fields: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    let slot = fields.entry(key).or_insert(Value::Null);
    if slot.is_null() {
        *slot = value.into();
    }
}

/// The current time in Kubernetes' format.
pub(crate) fn now() -> String {
    timestamp(jiff::Timestamp::now())
}

pub(crate) fn timestamp(moment: jiff::Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
