//! Numbers as Clouddriver's JSON library parses them: all are floats, and Orca casts some to `Double`.

use serde_json::{Number, Value};

/// Writes every whole number as `2.0`, and removes keys whose value is null.
pub fn with_floats(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().and_then(Number::from_f64);
            Value::Number(float.unwrap_or(number))
        }
        Value::Array(items) => items.into_iter().map(with_floats).collect(),
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, with_floats(value)))
            .collect(),
        other => other,
    }
}

/// Removes keys whose value is null.
pub(crate) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key, without_nulls(value)))
            .collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_are_written_with_a_point() {
        let value = json!({"replicas": 2, "list": [0, -1, 1.5, "2", null], "gone": null, "big": 12_345_678});
        let text = with_floats(value).to_string();
        assert_eq!(text, r#"{"big":12345678.0,"list":[0.0,-1.0,1.5,"2",null],"replicas":2.0}"#);
    }
}
