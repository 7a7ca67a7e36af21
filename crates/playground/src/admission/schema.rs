//! OpenAPI schemas of custom resources: pruning, defaults, and the common validations.

use serde_json::{Map, Value};

use crate::object::text;
use crate::status::Cause;

/// Removes unknown fields and sets defaults; `apiVersion`, `kind` and `metadata` belong to the server and stay.
pub(super) fn prune(schema: &Value, object: &mut Value) {
    let Value::Object(fields) = object else { return };
    let mut own = Map::new();
    for key in ["apiVersion", "kind", "metadata"] {
        if let Some(value) = fields.remove(key) {
            own.insert(key.to_owned(), value);
        }
    }
    walk(schema, object);
    if let Value::Object(fields) = object {
        fields.extend(own);
    }
}

fn walk(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let known = schema.get("properties").and_then(Value::as_object);
            let rest = schema.get("additionalProperties").filter(|rest| **rest != Value::Bool(false));
            let keeps = rest.is_some()
                || flag(schema, "x-kubernetes-preserve-unknown-fields")
                || flag(schema, "x-kubernetes-embedded-resource");
            if !keeps {
                fields.retain(|key, _| known.is_some_and(|known| known.contains_key(key)));
            }
            for (key, schema) in known.into_iter().flatten() {
                if let Some(default) = schema.get("default")
                    && !fields.contains_key(key)
                {
                    fields.insert(key.clone(), default.clone());
                }
            }
            for (key, value) in fields {
                let below = known.and_then(|known| known.get(key)).or(rest.filter(|rest| rest.is_object()));
                if let Some(schema) = below {
                    walk(schema, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    walk(schema, item);
                }
            }
        }
        _ => {}
    }
}

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool) == Some(true)
}

/// Collects a cause for each wrong type, missing field, unsupported enum value and number out of range.
pub(super) fn validate(schema: &Value, value: &Value, at: &str, causes: &mut Vec<Cause>) {
    let wanted = text(schema, "/type");
    let found = type_of(value);
    let fits = wanted.is_empty()
        || wanted == found
        || (wanted == "number" && found == "integer")
        || flag(schema, "x-kubernetes-int-or-string")
        || (value.is_null() && flag(schema, "nullable"));
    if !fits {
        causes.push(Cause {
            reason: "FieldValueTypeInvalid",
            field: at.to_owned(),
            message: format!("Invalid value: {found:?}: {at} in body must be of type {wanted}: {found:?}"),
        });
        return;
    }
    range(schema, value, at, causes);
    if let Some(Value::Array(words)) = schema.get("enum")
        && !words.contains(value)
    {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        causes.push(Cause::unsupported(at, value, &words));
    }
    below(schema, value, at, causes);
}

fn below(schema: &Value, value: &Value, at: &str, causes: &mut Vec<Cause>) {
    let field = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    if let (Value::Array(items), Some(schema)) = (value, schema.get("items")) {
        for (index, item) in items.iter().enumerate() {
            validate(schema, item, &format!("{at}[{index}]"), causes);
        }
    }
    let Value::Object(fields) = value else { return };
    for key in crate::object::list(schema, "/required").iter().filter_map(Value::as_str) {
        if !fields.contains_key(key) {
            causes.push(Cause::required(field(key), ""));
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let rest = schema.get("additionalProperties").filter(|rest| rest.is_object());
    for (key, value) in fields {
        let of_server = at.is_empty() && matches!(key.as_str(), "metadata" | "apiVersion" | "kind");
        if let Some(schema) = known.and_then(|known| known.get(key)).or(rest)
            && !of_server
        {
            validate(schema, value, &field(key), causes);
        }
    }
}

fn range(schema: &Value, value: &Value, at: &str, causes: &mut Vec<Cause>) {
    let Some(number) = value.as_f64() else { return };
    let bound = |key: &str| schema.get(key).and_then(|shown| Some((shown.as_f64()?, shown)));
    if let Some((least, shown)) = bound("minimum")
        && number < least
    {
        let why = format!("{at} in body should be greater than or equal to {shown}");
        causes.push(Cause::invalid(at, value, &why));
    }
    if let Some((most, shown)) = bound("maximum")
        && number > most
    {
        let why = format!("{at} in body should be less than or equal to {shown}");
        causes.push(Cause::invalid(at, value, &why));
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({"type": "object", "properties": {"spec": {
            "type": "object", "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "color": {"type": "string", "default": "blue", "enum": ["blue", "red"]},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        }}})
    }

    #[test]
    fn unknown_fields_go_and_defaults_come() {
        let mut object = json!({
            "metadata": {"name": "x"}, "other": 1,
            "spec": {"size": 1, "odd": 2, "free": {"a": 1}, "map": {"k": "v"}},
        });
        prune(&schema(), &mut object);
        let spec = json!({"size": 1, "color": "blue", "free": {"a": 1}, "map": {"k": "v"}});
        assert_eq!(object, json!({"metadata": {"name": "x"}, "spec": spec}));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let complaints = |spec: Value| {
            let mut causes = Vec::new();
            validate(&schema(), &json!({"spec": spec}), "", &mut causes);
            causes.iter().map(|cause| (cause.field.clone(), cause.reason)).collect::<Vec<_>>()
        };
        assert_eq!(complaints(json!({"size": 1})), []);
        for (spec, field, reason) in [
            (json!({"size": "big"}), "spec.size", "FieldValueTypeInvalid"),
            (json!({"size": 0}), "spec.size", "FieldValueInvalid"),
            (json!({}), "spec.size", "FieldValueRequired"),
            (json!({"size": 1, "color": "green"}), "spec.color", "FieldValueNotSupported"),
            (json!({"size": 1, "map": {"k": 1}}), "spec.map.k", "FieldValueTypeInvalid"),
        ] {
            assert_eq!(complaints(spec.clone()), [(field.to_owned(), reason)], "{spec}");
        }
    }
}
