//! Access to untrusted JSON by pointers: a missing field is empty, never an error.

use serde_json::Value;

/// Reads fields of an object by JSON pointers.
pub(crate) trait Look {
    /// Value, or null.
    fn at(&self, pointer: &str) -> &Value;

    /// String, or an empty one.
    fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// Number, or 0.
    fn int(&self, pointer: &str) -> i64 {
        self.at(pointer).as_i64().unwrap_or_default()
    }

    /// Whether the value is `true`.
    fn flag(&self, pointer: &str) -> bool {
        self.at(pointer).as_bool().unwrap_or_default()
    }

    /// Items of a list.
    fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).as_array().map_or(&[], Vec::as_slice)
    }

    /// Whether the value exists and is not null.
    fn has(&self, pointer: &str) -> bool {
        !self.at(pointer).is_null()
    }

    /// String, or a default if it is missing or empty.
    fn text_or<'a>(&'a self, pointer: &str, otherwise: &'a str) -> &'a str {
        match self.text(pointer) {
            "" => otherwise,
            text => text,
        }
    }

    /// Number of entries of a map or list.
    fn count(&self, pointer: &str) -> usize {
        match self.at(pointer) {
            Value::Object(entries) => entries.len(),
            Value::Array(items) => items.len(),
            _ => 0,
        }
    }

    /// String, or a number or boolean as text: ports and percentages may be either.
    fn scalar(&self, pointer: &str) -> Option<String> {
        scalar(self.at(pointer))
    }

    /// Condition of this type.
    fn condition(&self, r#type: &str) -> Option<&Value> {
        self.list("/status/conditions").iter().find(|condition| condition.text("/type") == r#type)
    }
}

/// Scalar as text.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Value of a label or annotation, whose keys contain characters that are special in pointers.
pub(crate) fn entry<'a>(object: &'a Value, map: &str, key: &str) -> Option<&'a str> {
    object.at(map).get(key).and_then(Value::as_str)
}

// === impl Look ===

impl Look for Value {
    fn at(&self, pointer: &str) -> &Value {
        self.pointer(pointer).unwrap_or(&Value::Null)
    }
}
