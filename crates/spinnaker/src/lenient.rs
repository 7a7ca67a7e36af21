//! Scalars as Orca sends them: numbers as text, text as numbers, and null where there is nothing.

use serde::{
    Deserialize, Deserializer,
    de::{Error, Unexpected},
};
use serde_json::Value;

/// A number, a boolean or a text, as text.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::<Value>::deserialize(deserializer)?.map_or(Ok(None), written)
}

/// The same; an absent value is an empty string.
pub(crate) fn text_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    text(deserializer).map(Option::unwrap_or_default)
}

/// Integer, also as text; none if the text is empty.
pub(crate) fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let unwritable = |value: &Value| unfit(value, "a whole number");
    match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => {
            text.trim().parse().map(Some).map_err(|_| unwritable(&Value::String(text)))
        }
        // As Jackson does, the fraction is cut off.
        #[allow(clippy::cast_possible_truncation)]
        Some(Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Ok(Some(whole)),
            (None, Some(float)) if float.abs() < 9e15 => Ok(Some(float as i64)),
            _ => Err(unwritable(&Value::Number(number))),
        },
        Some(other) => Err(unwritable(&other)),
    }
}

/// `true` or `false`, also as text.
pub(crate) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    match Option::<Value>::deserialize(deserializer)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(flag)),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("false") || text.is_empty() => Ok(Some(false)),
        Some(other) => Err(unfit(&other, "true or false")),
    }
}

/// List of strings, or of values that can be written as one; empty for null.
pub(crate) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let values: Vec<Value> = or_default(deserializer)?;
    values.into_iter().map(|value| written(value).map(Option::unwrap_or_default)).collect()
}

/// Value with a default for null.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn written<E: Error>(value: Value) -> Result<Option<String>, E> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::Bool(flag) => Ok(Some(flag.to_string())),
        other => Err(unfit(&other, "a text")),
    }
}

fn unfit<E: Error>(value: &Value, expected: &str) -> E {
    let unexpected = match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(flag) => Unexpected::Bool(*flag),
        Value::Number(_) => Unexpected::Other("number"),
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    E::invalid_type(unexpected, &expected)
}
