//! Schema of built-in objects: their fields and types.
//!
//! Decoding rejects wrong types with the messages of Go's decoder, and removes and reports unknown fields.

pub(crate) mod fields;

use std::fmt;

use serde_json::{Map, Number, Value};

use fields::FieldType;

/// Error of the decoder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DecodeError {
    Type {
        found: String,
        /// Struct and path as Go writes them: `Container.spec.containers.image`.
        field: String,
        wanted: String,
    },
    Quantity,
}

/// Position of the decoder.
#[derive(Clone, Copy)]
struct FieldPosition<'a> {
    /// Struct that contains the field.
    owner: &'static str,
    /// `spec.containers[0].image`.
    path: &'a str,
}

/// Removes the fields that a kind does not have and returns their paths; objects of kinds without a schema stay
/// unchanged.
pub(crate) fn fit(api_version: &str, kind: &str, object: &mut Value) -> Result<Vec<String>, DecodeError> {
    let mut unknown = Vec::new();
    let Some(message) = fields::message_of(api_version, kind) else { return Ok(unknown) };
    let Value::Object(members) = object else { return Ok(unknown) };
    // Type and version are checked before this.
    let type_meta: Vec<_> =
        ["apiVersion", "kind"].iter().filter_map(|key| members.remove_entry(*key)).collect();
    fit_message(message, members, "", &mut unknown)?;
    members.extend(type_meta);
    Ok(unknown)
}

fn fit_message(
    message: &'static str,
    members: &mut Map<String, Value>,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    let mut strangers = Vec::new();
    for (name, value) in members.iter_mut() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if let Some(field) = fields::named(message, name) {
            let owner = message.rsplit('.').next().unwrap_or(message);
            fit_value(&field.kind, value, FieldPosition { owner, path: &path }, unknown)?;
        } else {
            unknown.push(path);
            strangers.push(name.clone());
        }
    }
    for name in strangers {
        members.remove(&name);
    }
    Ok(())
}

fn fit_value(
    kind: &FieldType,
    value: &mut Value,
    place: FieldPosition<'_>,
    unknown: &mut Vec<String>,
) -> Result<(), DecodeError> {
    match (kind, value) {
        // Null is always allowed; types with their own decoder are checked where they are used.
        (_, Value::Null)
        | (FieldType::Either | FieldType::Json | FieldType::List, _)
        | (FieldType::Text | FieldType::Bytes | FieldType::Time { .. }, Value::String(_))
        | (FieldType::Bool, Value::Bool(_))
        | (FieldType::Float | FieldType::Quantity, Value::Number(_)) => Ok(()),
        (FieldType::Int(name), Value::Number(number)) if is_integer(name, number) => Ok(()),
        (FieldType::Quantity, Value::String(text)) if is_quantity(text) => Ok(()),
        (FieldType::Quantity, _) => Err(DecodeError::Quantity),
        (FieldType::Message(message), Value::Object(members)) => {
            fit_message(message, members, place.path, unknown)
        }
        (FieldType::Many(item), Value::Array(items)) => {
            for (index, value) in items.iter_mut().enumerate() {
                let path = format!("{}[{index}]", place.path);
                fit_value(item, value, FieldPosition { path: &path, ..place }, unknown)?;
            }
            Ok(())
        }
        (FieldType::Map(kind), Value::Object(members)) => {
            members.values_mut().try_for_each(|value| fit_value(kind, value, place, unknown))
        }
        (kind, value) => Err(DecodeError::new(kind, value, place)),
    }
}

/// Whether a number fits this Go type.
fn is_integer(name: &str, number: &Number) -> bool {
    number.as_i64().is_some_and(|number| name != "int32" || i32::try_from(number).is_ok())
}

/// Whether text is a quantity such as `1.5Gi`, `100m` or `1e3`.
fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = unsigned.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let exponent = rest.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    rest.len() < unsigned.len() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

// === impl DecodeError ===

impl DecodeError {
    fn new(kind: &FieldType, value: &Value, place: FieldPosition<'_>) -> Self {
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(number) if matches!(kind, FieldType::Int(_)) => format!("number {number}"),
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
        };
        // Go omits the indexes.
        let mut path = String::new();
        for part in place.path.split('[') {
            path.push_str(part.split_once(']').map_or(part, |(_, rest)| rest));
        }
        Self::Type { found, field: format!("{}.{path}", place.owner), wanted: go_name(kind) }
    }
}

/// Name of a field's type in Go.
fn go_name(kind: &FieldType) -> String {
    match kind {
        FieldType::Text | FieldType::Time { .. } | FieldType::Quantity => "string".to_owned(),
        FieldType::Bytes => "[]uint8".to_owned(),
        FieldType::Bool => "bool".to_owned(),
        FieldType::Int(name) => (*name).to_owned(),
        FieldType::Float => "float64".to_owned(),
        FieldType::Message(message) => message.split_once('.').map_or(*message, |(_, name)| name).to_owned(),
        FieldType::Many(item) => format!("[]{}", go_name(item)),
        FieldType::Map(value) => format!("map[string]{}", go_name(value)),
        FieldType::Either => "int32".to_owned(),
        FieldType::Json => "map[string]interface {}".to_owned(),
        FieldType::List => "[]string".to_owned(),
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { found, field, wanted } => {
                write!(f, "json: cannot unmarshal {found} into Go struct field {field} of type {wanted}")
            }
            Self::Quantity => f.write_str(
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(container: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [container]}})
    }

    #[test]
    fn unknown_fields_are_taken_out_and_named() {
        let mut object = pod(&json!({"name": "c", "bogus": 1, "resources": {"limits": {"cpu": "1"}}}));
        object["other"] = json!({});
        let unknown = fit("v1", "Pod", &mut object).expect("it fits");
        assert_eq!(unknown, ["other", "spec.containers[0].bogus"]);
        assert_eq!(object, pod(&json!({"name": "c", "resources": {"limits": {"cpu": "1"}}})));
    }

    #[test]
    fn inline_fields_are_known() {
        let mut object = pod(&json!({"name": "c", "livenessProbe": {"httpGet": {"port": "http"}}}));
        object["spec"]["volumes"] = json!([{"name": "v", "hostPath": {"path": "/"}}]);
        assert_eq!(fit("v1", "Pod", &mut object), Ok(Vec::new()));
    }

    #[test]
    fn wrong_types_are_told_in_the_words_of_go() {
        for (container, why) in [
            (
                json!({"image": 3}),
                "number into Go struct field Container.spec.containers.image of type string",
            ),
            (
                json!({"args": "x"}),
                "string into Go struct field Container.spec.containers.args of type []string",
            ),
            (json!({"stdin": 1}), "number into Go struct field Container.spec.containers.stdin of type bool"),
            (json!(3), "number into Go struct field PodSpec.spec.containers of type v1.Container"),
        ] {
            let misfit = fit("v1", "Pod", &mut pod(&container)).expect_err("it does not fit");
            assert_eq!(misfit.to_string(), format!("json: cannot unmarshal {why}"));
        }
        let mut many = json!({"spec": {"replicas": 3_000_000_000_i64, "minReadySeconds": 5}});
        let misfit = fit("apps/v1", "Deployment", &mut many).expect_err("it is no int32");
        let why = "number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32";
        assert_eq!(misfit.to_string(), format!("json: cannot unmarshal {why}"));
        let mut lots = pod(&json!({"resources": {"limits": {"cpu": "lots"}}}));
        assert_eq!(fit("v1", "Pod", &mut lots), Err(DecodeError::Quantity));
    }

    #[test]
    fn quantities_are_numbers_with_units() {
        for text in ["1", "1.5Gi", "100m", "-2", "1e3", "1E-3", "0"] {
            assert!(is_quantity(text), "{text}");
        }
        for text in ["", "lots", "1x", "Gi", "1 Gi"] {
            assert!(!is_quantity(text), "{text}");
        }
    }

    #[test]
    fn kinds_without_a_shape_stay_as_they_are() {
        let mut object = json!({"kind": "Widget", "spec": {"anything": 1}});
        assert_eq!(fit("example.com/v1", "Widget", &mut object), Ok(Vec::new()));
        assert_eq!(object["spec"]["anything"], 1);
    }
}
