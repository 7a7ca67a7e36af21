//! JSON patches (RFC 6902), as the API server's library applies them.

use serde::Deserialize;
use serde_json::Value;

use super::{MergeError, Object};

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Operation {
    Add {
        path: String,
        #[serde(default)]
        value: Value,
    },
    Remove {
        path: String,
    },
    Replace {
        path: String,
        #[serde(default)]
        value: Value,
    },
    Move {
        from: String,
        path: String,
    },
    Copy {
        from: String,
        path: String,
    },
    Test {
        path: String,
        #[serde(default)]
        value: Value,
    },
}

/// Number of bytes that a patch may copy, the API server's own bound: copies of copies could otherwise grow without end.
const MAX_COPIED: usize = 3 << 20;

/// Largest depth of an object, the limit of `serde_json`: moves could otherwise nest it without end.
const MAX_DEPTH: usize = 128;

const NO_SUCH_PATH: &str = "its path does not exist";
const NO_OBJECT: &str = "the result is not an object";
const TOO_LARGE: &str = "it would make the object too large or too deep";

pub(super) fn apply(object: Object, patch: &Value) -> Result<Object, MergeError> {
    let failed = |index| move |problem| MergeError::JsonPatch { index, problem };
    let operations = patch.as_array().ok_or_else(|| failed(0)("a JSON patch is a list"))?;
    let mut target = Value::Object(object);
    let mut copied = 0;
    for (index, operation) in operations.iter().enumerate() {
        let operation = Operation::deserialize(operation)
            .map_err(|_| failed(index)("it has no known op, or lacks path or from"))?;
        step(&mut target, operation, &mut copied).map_err(failed(index))?;
    }
    match target {
        Value::Object(object) => Ok(object),
        _ => Err(failed(operations.len().saturating_sub(1))(NO_OBJECT)),
    }
}

/// Counts the levels of a value; a scalar has one. Level by level, since recursion could overflow the stack.
pub(super) fn depth(value: &Value) -> usize {
    let mut depth = 0;
    let mut level = vec![value];
    while !level.is_empty() {
        depth += 1;
        let mut next = Vec::new();
        for value in level {
            match value {
                Value::Object(fields) => next.extend(fields.values()),
                Value::Array(items) => next.extend(items),
                _ => {}
            }
        }
        level = next;
    }
    depth
}

fn step(target: &mut Value, operation: Operation, copied: &mut usize) -> Result<(), &'static str> {
    match operation {
        Operation::Add { path, value } => add(target, &path, value),
        Operation::Remove { path } => remove(target, &path).map(drop),
        Operation::Replace { path, value } => replace(target, &path, value),
        Operation::Move { from, path } => {
            let value = remove(target, &from)?;
            add(target, &path, value)
        }
        Operation::Copy { from, path } => {
            let value = target.pointer(&from).cloned().ok_or(NO_SUCH_PATH)?;
            *copied += value.to_string().len();
            if *copied > MAX_COPIED {
                return Err(TOO_LARGE);
            }
            add(target, &path, value)
        }
        Operation::Test { path, value } => {
            let equal = target.pointer(&path).unwrap_or(&Value::Null) == &value;
            if equal { Ok(()) } else { Err("its test failed") }
        }
    }
}

fn add(target: &mut Value, path: &str, value: Value) -> Result<(), &'static str> {
    check_depth(path, &value)?;
    let Some((parent, name)) = split(path)? else {
        *target = value;
        return Ok(());
    };
    match target.pointer_mut(parent).ok_or(NO_SUCH_PATH)? {
        Value::Object(map) => _ = map.insert(name, value),
        Value::Array(list) if name == "-" => list.push(value),
        Value::Array(list) => {
            let index = name.parse().ok().filter(|index| *index <= list.len()).ok_or(NO_SUCH_PATH)?;
            list.insert(index, value);
        }
        _ => return Err(NO_SUCH_PATH),
    }
    Ok(())
}

/// Replaces a value. Like the API server's library, adds it where a map lacks it, but not to a list.
fn replace(target: &mut Value, path: &str, value: Value) -> Result<(), &'static str> {
    check_depth(path, &value)?;
    if let Some(found) = target.pointer_mut(path) {
        *found = value;
        return Ok(());
    }
    let (parent, name) = split(path)?.ok_or(NO_SUCH_PATH)?;
    let parent = target.pointer_mut(parent).and_then(Value::as_object_mut).ok_or(NO_SUCH_PATH)?;
    parent.insert(name, value);
    Ok(())
}

fn remove(target: &mut Value, path: &str) -> Result<Value, &'static str> {
    let (parent, name) = split(path)?.ok_or(NO_OBJECT)?;
    match target.pointer_mut(parent).ok_or(NO_SUCH_PATH)? {
        Value::Object(map) => map.remove(&name).ok_or(NO_SUCH_PATH),
        Value::Array(list) => {
            let index = name.parse().ok().filter(|index| *index < list.len()).ok_or(NO_SUCH_PATH)?;
            Ok(list.remove(index))
        }
        _ => Err(NO_SUCH_PATH),
    }
}

fn check_depth(path: &str, value: &Value) -> Result<(), &'static str> {
    let level = path.matches('/').count();
    if level + depth(value) <= MAX_DEPTH { Ok(()) } else { Err(TOO_LARGE) }
}

/// Splits a path into that of the parent and the name in it; none for the whole document.
fn split(path: &str) -> Result<Option<(&str, String)>, &'static str> {
    if path.is_empty() {
        return Ok(None);
    }
    if !path.starts_with('/') {
        return Err(NO_SUCH_PATH);
    }
    let (parent, name) = path.rsplit_once('/').ok_or(NO_SUCH_PATH)?;
    Ok(Some((parent, name.replace("~1", "/").replace("~0", "~"))))
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
    fn errors_name_the_operation_by_its_index() {
        let test = json!({ "op": "test", "path": "/a", "value": 1 });
        for wrong in [
            json!({ "op": "test", "path": "/a", "value": 2 }),
            json!({ "op": "remove", "path": "/b" }),
            json!({ "op": "replace", "path": "/b/c", "value": 2 }),
            json!({ "op": "replace", "path": "/list/7", "value": 2 }),
            json!({ "op": "add", "path": "/b/c", "value": 2 }),
            json!({ "op": "add", "path": "/list/7", "value": 2 }),
            json!({ "op": "add", "path": "b", "value": 2 }),
            json!({ "op": "shake", "path": "/a" }),
            json!({ "op": "add", "value": 2 }),
            json!({ "op": "move", "path": "/a" }),
        ] {
            let object = json!({ "a": 1, "list": ["x"] });
            let error = patched(object, &json!([test, wrong])).unwrap_err();
            assert!(matches!(error, MergeError::JsonPatch { index: 1, .. }), "{wrong}: {error}");
        }
    }

    #[test]
    fn absent_fields_are_replaced_and_absent_values_are_null_as_in_the_api_server() {
        let patch = json!([{ "op": "replace", "path": "/b", "value": 2 }, { "op": "add", "path": "/c" }]);
        assert_eq!(patched(json!({ "a": 1 }), &patch), Ok(json!({ "a": 1, "b": 2, "c": null })));
    }

    #[test]
    fn copies_of_copies_are_bounded() {
        let double = json!({ "op": "copy", "from": "/a", "path": "/a/b/-" });
        let patch = Value::Array(vec![double; 60]);
        assert!(patched(json!({ "a": { "b": [1, 2] } }), &patch).is_err());
    }

    #[test]
    fn moves_cannot_nest_without_bound() {
        let wrap = |times: usize| {
            let step = [
                json!({ "op": "add", "path": "/e", "value": {} }),
                json!({ "op": "move", "from": "/a", "path": "/e/a" }),
                json!({ "op": "move", "from": "/e", "path": "/a" }),
            ];
            Value::Array(std::iter::repeat_n(step, times).flatten().collect())
        };
        assert!(patched(json!({ "a": 1 }), &wrap(50)).is_ok());
        assert!(patched(json!({ "a": 1 }), &wrap(3_000)).is_err());
    }
}
