//! Values as text, in the form of kubectl and Go.

use serde_json::Value;

use crate::json;

/// Value in a template: strings as they are, maps and lists as JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => go_number(number),
        Value::Null | Value::Bool(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => json::compact(value),
    }
}

/// Value in a custom column: maps and lists as Go prints them.
pub(crate) fn nested(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(nested).collect::<Vec<_>>().join(" "))
        }
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            let entries: Vec<_> =
                entries.into_iter().map(|(key, value)| format!("{key}:{}", nested(value))).collect();
            format!("map[{}]", entries.join(" "))
        }
        value => plain(value),
    }
}

/// Omits a fraction that is zero, as Go does.
fn go_number(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float.to_string(),
        _ => number.to_string(),
    }
}
