//! Reading JSON that others wrote: what is missing is empty, never an error.

use serde_json::Value;

/// Looks into an object by JSON pointers.
pub(crate) trait Look {
    /// What is there, or null.
    fn at(&self, pointer: &str) -> &Value;

    /// The text there, or an empty one.
    fn text(&self, pointer: &str) -> &str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// The number there, or 0.
    fn int(&self, pointer: &str) -> i64 {
        self.at(pointer).as_i64().unwrap_or_default()
    }

    /// Whether `true` is there.
    fn flag(&self, pointer: &str) -> bool {
        self.at(pointer).as_bool().unwrap_or_default()
    }

    /// The items of the list there.
    fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).as_array().map_or(&[], Vec::as_slice)
    }

    /// Whether there is anything but null.
    fn has(&self, pointer: &str) -> bool {
        !self.at(pointer).is_null()
    }

    /// The text there, or another where it is missing or empty.
    fn text_or<'a>(&'a self, pointer: &str, otherwise: &'a str) -> &'a str {
        match self.text(pointer) {
            "" => otherwise,
            text => text,
        }
    }

    /// How many entries the map or list there has.
    fn count(&self, pointer: &str) -> usize {
        match self.at(pointer) {
            Value::Object(entries) => entries.len(),
            Value::Array(items) => items.len(),
            _ => 0,
        }
    }

    /// The text there, or a number or boolean as text: ports and percentages may be either.
    fn scalar(&self, pointer: &str) -> Option<String> {
        scalar(self.at(pointer))
    }

    /// The condition of this type, if there is one.
    fn condition(&self, r#type: &str) -> Option<&Value> {
        self.list("/status/conditions").iter().find(|condition| condition.text("/type") == r#type)
    }
}

/// A scalar as text.
pub(crate) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The value of a label or annotation, whose keys hold characters that are special in pointers.
pub(crate) fn entry<'a>(object: &'a Value, map: &str, key: &str) -> Option<&'a str> {
    object.at(map).get(key).and_then(Value::as_str)
}

// === impl Look ===

impl Look for Value {
    fn at(&self, pointer: &str) -> &Value {
        self.pointer(pointer).unwrap_or(&Value::Null)
    }
}
