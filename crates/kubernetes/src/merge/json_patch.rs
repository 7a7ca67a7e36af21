//! JSON patches (RFC 6902), for what is only tried: the API server applies those that count.

use serde::Deserialize;
use serde_json::Value;

use super::{MergeError, Object};

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Operation {
    Add { path: String, value: Value },
    Remove { path: String },
    Replace { path: String, value: Value },
    Move { from: String, path: String },
    Copy { from: String, path: String },
    Test { path: String, value: Value },
}

const NOWHERE: &str = "its path leads nowhere";
const NO_OBJECT: &str = "what is left is no object";

pub(super) fn apply(object: Object, patch: &Value) -> Result<Object, MergeError> {
    let failed = |index| move |problem| MergeError::JsonPatch { index, problem };
    let operations = patch.as_array().ok_or_else(|| failed(0)("a JSON patch is a list"))?;
    let mut target = Value::Object(object);
    for (index, operation) in operations.iter().enumerate() {
        let operation = Operation::deserialize(operation)
            .map_err(|_| failed(index)("it has no known op, or lacks path, value or from"))?;
        step(&mut target, operation).map_err(failed(index))?;
    }
    match target {
        Value::Object(object) => Ok(object),
        _ => Err(failed(operations.len().saturating_sub(1))(NO_OBJECT)),
    }
}

fn step(target: &mut Value, operation: Operation) -> Result<(), &'static str> {
    match operation {
        Operation::Add { path, value } => add(target, &path, value),
        Operation::Remove { path } => remove(target, &path).map(drop),
        Operation::Replace { path, value } => {
            *target.pointer_mut(&path).ok_or(NOWHERE)? = value;
            Ok(())
        }
        Operation::Move { from, path } => {
            let value = remove(target, &from)?;
            add(target, &path, value)
        }
        Operation::Copy { from, path } => {
            let value = target.pointer(&from).cloned().ok_or(NOWHERE)?;
            add(target, &path, value)
        }
        Operation::Test { path, value } => {
            let equal = target.pointer(&path).unwrap_or(&Value::Null) == &value;
            if equal { Ok(()) } else { Err("its test failed") }
        }
    }
}

fn add(target: &mut Value, path: &str, value: Value) -> Result<(), &'static str> {
    let Some((parent, name)) = split(path) else {
        *target = value;
        return Ok(());
    };
    match target.pointer_mut(parent).ok_or(NOWHERE)? {
        Value::Object(map) => _ = map.insert(name, value),
        Value::Array(list) if name == "-" => list.push(value),
        Value::Array(list) => {
            let index = name.parse().ok().filter(|index| *index <= list.len()).ok_or(NOWHERE)?;
            list.insert(index, value);
        }
        _ => return Err(NOWHERE),
    }
    Ok(())
}

fn remove(target: &mut Value, path: &str) -> Result<Value, &'static str> {
    let (parent, name) = split(path).ok_or(NO_OBJECT)?;
    match target.pointer_mut(parent).ok_or(NOWHERE)? {
        Value::Object(map) => map.remove(&name).ok_or(NOWHERE),
        Value::Array(list) => {
            let index = name.parse().ok().filter(|index| *index < list.len()).ok_or(NOWHERE)?;
            Ok(list.remove(index))
        }
        _ => Err(NOWHERE),
    }
}

/// The path of what contains it, and its own name; none for the whole document.
fn split(path: &str) -> Option<(&str, String)> {
    let (parent, name) = path.rsplit_once('/')?;
    Some((parent, name.replace("~1", "/").replace("~0", "~")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(object: Value, patch: &Value) -> Result<Value, MergeError> {
        let Value::Object(object) = object else { panic!("an object") };
        apply(object, patch).map(Value::Object)
    }

    #[test]
    fn each_operation_does_what_the_standard_says() {
        let object = json!({ "a": { "b/c": 1, "~": 2 }, "list": ["x", "y"] });
        let cases = [
            (
                json!([{ "op": "add", "path": "/a/d", "value": 3 }]),
                json!({ "b/c": 1, "~": 2, "d": 3 }),
                json!(["x", "y"]),
            ),
            (json!([{ "op": "remove", "path": "/a/b~1c" }]), json!({ "~": 2 }), json!(["x", "y"])),
            (
                json!([{ "op": "replace", "path": "/a/~0", "value": 9 }]),
                json!({ "b/c": 1, "~": 9 }),
                json!(["x", "y"]),
            ),
            (
                json!([{ "op": "add", "path": "/list/1", "value": "z" }]),
                json!({ "b/c": 1, "~": 2 }),
                json!(["x", "z", "y"]),
            ),
            (
                json!([{ "op": "add", "path": "/list/-", "value": "z" }]),
                json!({ "b/c": 1, "~": 2 }),
                json!(["x", "y", "z"]),
            ),
            (
                json!([{ "op": "move", "from": "/list/0", "path": "/a/x" }]),
                json!({ "b/c": 1, "~": 2, "x": "x" }),
                json!(["y"]),
            ),
            (
                json!([{ "op": "copy", "from": "/list/0", "path": "/a/x" }]),
                json!({ "b/c": 1, "~": 2, "x": "x" }),
                json!(["x", "y"]),
            ),
            (
                json!([{ "op": "test", "path": "/list/0", "value": "x" }]),
                json!({ "b/c": 1, "~": 2 }),
                json!(["x", "y"]),
            ),
        ];
        for (patch, a, list) in cases {
            assert_eq!(patched(object.clone(), &patch), Ok(json!({ "a": a, "list": list })), "{patch}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_by_its_number() {
        let test = json!({ "op": "test", "path": "/a", "value": 1 });
        for wrong in [
            json!({ "op": "test", "path": "/a", "value": 2 }),
            json!({ "op": "remove", "path": "/b" }),
            json!({ "op": "replace", "path": "/b", "value": 2 }),
            json!({ "op": "add", "path": "/b/c", "value": 2 }),
            json!({ "op": "shake", "path": "/a" }),
            json!({ "op": "add", "path": "/b" }),
        ] {
            let error = patched(json!({ "a": 1 }), &json!([test, wrong])).unwrap_err();
            assert!(matches!(error, MergeError::JsonPatch { index: 1, .. }), "{wrong}: {error}");
        }
    }
}
