//! Exceptions that Java throws for unexpected values.

use serde_json::{Map, Value, json};

/// An exception that ends a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Exception {
    /// Such as `ClassCastException`.
    pub class: &'static str,
    pub message: String,
    /// Details of a refusal by HTTP.
    pub details: Map<String, Value>,
}

// === impl Exception ===

impl Exception {
    pub(super) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), details: Map::new() }
    }

    /// A value of another type than the code expects.
    pub(super) fn class_cast(what: &str, value: &Value, expected: &str) -> Self {
        let is = match value {
            Value::Null => "null",
            Value::Bool(_) => "java.lang.Boolean",
            Value::Number(number) if number.is_f64() => "java.lang.Double",
            Value::Number(_) => "java.lang.Integer",
            Value::String(_) => "java.lang.String",
            Value::Array(_) => "java.util.ArrayList",
            Value::Object(_) => "java.util.LinkedHashMap",
        };
        Self::new("ClassCastException", format!("{what}: {is} cannot be cast to {expected}"))
    }

    /// A null where there must be none.
    pub(super) fn null_pointer(what: &str) -> Self {
        Self::new("NullPointerException", format!("{what} is null"))
    }

    pub(super) fn illegal(message: impl Into<String>) -> Self {
        Self::new("IllegalArgumentException", message)
    }

    /// An answer that cannot be converted to the expected type.
    pub(super) fn conversion(what: &str) -> Self {
        Self::new("SpinnakerConversionException", what.to_owned())
    }

    pub(super) fn timeout(task: &str) -> Self {
        Self::new("TimeoutException", format!("{task} timed out"))
    }

    /// As a stage's context shows it.
    pub(super) fn to_value(&self, operation: &str) -> Value {
        let mut details = self.details.clone();
        if details.is_empty() {
            details.insert("errors".into(), json!([self.message]));
        }
        json!({
            "exceptionType": self.class,
            "shouldRetry": false,
            "details": details,
            "operation": operation,
            "timestamp": 0,
        })
    }
}

// === casts ===

/// Casts to `String`.
pub(super) fn string<'a>(what: &str, value: &'a Value) -> Result<&'a str, Exception> {
    value.as_str().ok_or_else(|| Exception::class_cast(what, value, "java.lang.String"))
}

/// Casts to `Double`: an integer is none.
pub(super) fn double(what: &str, value: &Value) -> Result<f64, Exception> {
    let number = value.as_number().filter(|number| number.is_f64()).and_then(serde_json::Number::as_f64);
    number.ok_or_else(|| Exception::class_cast(what, value, "java.lang.Double"))
}

/// Reads a `boolean`.
pub(super) fn boolean(what: &str, value: &Value) -> Result<bool, Exception> {
    value.as_bool().ok_or_else(|| Exception::class_cast(what, value, "java.lang.Boolean"))
}

/// Casts to a `List`; null is an empty one.
pub(super) fn list<'a>(what: &str, value: &'a Value) -> Result<&'a [Value], Exception> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        other => Err(Exception::class_cast(what, other, "java.util.List")),
    }
}

/// Casts to a `Map`.
pub(super) fn map<'a>(what: &str, value: &'a Value) -> Result<&'a Map<String, Value>, Exception> {
    value.as_object().ok_or_else(|| Exception::class_cast(what, value, "java.util.Map"))
}

/// Copies into Guava's `ImmutableMap`, which takes no nulls.
pub(super) fn immutable_map(what: &str, value: &Value) -> Result<Map<String, Value>, Exception> {
    let map = map(what, value)?;
    match map.iter().find(|(_, value)| value.is_null()) {
        Some((key, _)) => Err(Exception::null_pointer(&format!("{what}.{key}"))),
        None => Ok(map.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{double, immutable_map, list, string};

    #[test]
    fn an_integer_is_no_double() {
        assert!((double("readyReplicas", &json!(1.0)).unwrap() - 1.0).abs() < f64::EPSILON);
        let thrown = double("readyReplicas", &json!(1)).unwrap_err();
        assert_eq!(thrown.class, "ClassCastException");
        assert_eq!(thrown.message, "readyReplicas: java.lang.Integer cannot be cast to java.lang.Double");
    }

    #[test]
    fn an_immutable_map_takes_no_null() {
        assert_eq!(immutable_map("manifest", &json!({ "a": 1 })).unwrap().len(), 1);
        let thrown = immutable_map("manifest", &json!({ "a": null })).unwrap_err();
        assert_eq!((thrown.class, thrown.message.as_str()), ("NullPointerException", "manifest.a is null"));
    }

    #[test]
    fn texts_and_lists_are_what_they_are() {
        assert_eq!(string("message", &json!(["x"])).unwrap_err().class, "ClassCastException");
        assert_eq!(list("errors", &json!("x")).unwrap_err().class, "ClassCastException");
        assert!(list("errors", &json!(null)).unwrap().is_empty());
    }
}
