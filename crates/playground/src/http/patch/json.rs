//! JSON patches (RFC 6902).

use serde_json::Value;

use super::rejected;
use crate::object::{MAX_DEPTH, depth};
use crate::status::Status;

/// How many bytes a patch may copy; the real server has the same bound.
const MAX_COPIED: usize = 3 << 20;

/// One step of a patch.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    verb: String,
    path: Vec<String>,
    from: Option<Vec<String>>,
    value: Option<Value>,
}

pub(super) fn parse(patch: &Value) -> Result<Vec<Operation>, Status> {
    let Some(operations) = patch.as_array() else {
        let why = "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
        return Err(Status::bad_request(format!("error decoding patch: {why}")));
    };
    // The real server has the same bound.
    if operations.len() > 10_000 {
        let why =
            format!("The allowed maximum operations in a JSON patch is 10000, got {}", operations.len());
        return Err(Status::new(413, "RequestEntityTooLarge", why));
    }
    operations.iter().map(operation).collect()
}

fn operation(operation: &Value) -> Result<Operation, Status> {
    let text = |field: &str| operation.get(field).and_then(Value::as_str);
    let pointer = |text: &str| -> Result<Vec<String>, Status> {
        match text.strip_prefix('/') {
            _ if text.is_empty() => Ok(Vec::new()),
            Some(rest) => {
                Ok(rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect())
            }
            None => Err(rejected()),
        }
    };
    Ok(Operation {
        verb: text("op").unwrap_or_default().to_owned(),
        path: pointer(text("path").ok_or_else(rejected)?)?,
        from: text("from").map(pointer).transpose()?,
        value: operation.get("value").cloned(),
    })
}

pub(super) fn apply(object: &mut Value, operations: &[Operation]) -> Result<(), Status> {
    // A patch that copies copies could otherwise grow without bound.
    let mut copied = 0;
    for operation in operations {
        if operation.verb == "copy"
            && let Some(from) = &operation.from
        {
            copied += find(object, from).map_or(0, |value| value.to_string().len());
            if copied > MAX_COPIED {
                return Err(rejected());
            }
        }
        step(object, operation).ok_or_else(rejected)?;
    }
    Ok(())
}

fn step(object: &mut Value, operation: &Operation) -> Option<()> {
    let Operation { verb, path, from, value } = operation;
    match verb.as_str() {
        "add" => add(object, path, value.clone().unwrap_or_default()),
        "remove" => remove(object, path).map(drop),
        // As in the library of the real server, what is absent is added, but not to a list.
        "replace" => {
            let value = value.clone().unwrap_or_default();
            fits(path, &value)?;
            if let Some(found) = find(object, path) {
                *found = value;
                return Some(());
            }
            let (_, parents) = path.split_last()?;
            find(object, parents)?.is_object().then_some(())?;
            add(object, path, value)
        }
        "test" => {
            let found = find(object, path).map_or(&Value::Null, |found| found);
            (found == value.as_ref().unwrap_or(&Value::Null)).then_some(())
        }
        "move" => {
            let moved = remove(object, from.as_ref()?)?;
            add(object, path, moved)
        }
        "copy" => {
            let copied = find(object, from.as_ref()?)?.clone();
            add(object, path, copied)
        }
        _ => None,
    }
}

fn find<'a>(object: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(object, |value, part| match value {
        Value::Object(fields) => fields.get_mut(part),
        Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Moves could otherwise build something too deep to be dropped, let alone written.
fn fits(path: &[String], value: &Value) -> Option<()> {
    (path.len() + depth(value) <= MAX_DEPTH).then_some(())
}

fn add(object: &mut Value, path: &[String], value: Value) -> Option<()> {
    fits(path, &value)?;
    let Some((last, parents)) = path.split_last() else {
        *object = value;
        return Some(());
    };
    match find(object, parents)? {
        Value::Object(fields) => {
            fields.insert(last.clone(), value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let index = last.parse::<usize>().ok().filter(|&index| index <= items.len())?;
            items.insert(index, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(object: &mut Value, path: &[String]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    match find(object, parents)? {
        Value::Object(fields) => fields.remove(last),
        Value::Array(items) => {
            let index = last.parse::<usize>().ok().filter(|&index| index < items.len())?;
            Some(items.remove(index))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(patch: &Value) -> Option<Value> {
        let mut object = json!({"a": {"b": [1, 2]}, "c/d": "x"});
        apply(&mut object, &parse(patch).ok()?).ok()?;
        Some(object)
    }

    #[test]
    fn every_operation_does_what_the_rfc_says() {
        for (patch, wanted) in [
            (
                json!([{"op": "add", "path": "/a/b/1", "value": 9}]),
                json!({"a": {"b": [1, 9, 2]}, "c/d": "x"}),
            ),
            (
                json!([{"op": "add", "path": "/a/b/-", "value": 9}]),
                json!({"a": {"b": [1, 2, 9]}, "c/d": "x"}),
            ),
            (json!([{"op": "remove", "path": "/c~1d"}]), json!({"a": {"b": [1, 2]}})),
            (
                json!([{"op": "replace", "path": "/a/b/0", "value": 7}]),
                json!({"a": {"b": [7, 2]}, "c/d": "x"}),
            ),
            (json!([{"op": "move", "from": "/c~1d", "path": "/a/e"}]), json!({"a": {"b": [1, 2], "e": "x"}})),
            (
                json!([{"op": "copy", "from": "/c~1d", "path": "/e"}]),
                json!({"a": {"b": [1, 2]}, "c/d": "x", "e": "x"}),
            ),
            (json!([{"op": "test", "path": "/c~1d", "value": "x"}]), json!({"a": {"b": [1, 2]}, "c/d": "x"})),
        ] {
            assert_eq!(patched(&patch), Some(wanted), "{patch}");
        }
    }

    #[test]
    fn copies_of_copies_are_bounded() {
        let double = json!({"op": "copy", "from": "/a", "path": "/a/b/-"});
        assert_eq!(patched(&Value::Array(vec![double; 60])), None);
    }

    #[test]
    fn moves_cannot_nest_without_bound() {
        let wrap = |times: usize| {
            let step = [
                json!({"op": "add", "path": "/e", "value": {}}),
                json!({"op": "move", "from": "/a", "path": "/e/a"}),
                json!({"op": "move", "from": "/e", "path": "/a"}),
            ];
            Value::Array(std::iter::repeat_n(step, times).flatten().collect())
        };
        assert!(patched(&wrap(50)).is_some());
        assert_eq!(patched(&wrap(3_000)), None);
    }

    #[test]
    fn patches_that_do_not_fit_are_refused() {
        for patch in [
            json!([{"op": "test", "path": "/c~1d", "value": "y"}]),
            json!([{"op": "remove", "path": "/none"}]),
            json!([{"op": "replace", "path": "/a/b/7", "value": 1}]),
            json!([{"op": "add", "path": "/a/b/7", "value": 1}]),
            json!([{"op": "dance", "path": "/a"}]),
            json!([{"op": "add", "path": "a", "value": 1}]),
            json!({"op": "add"}),
        ] {
            assert_eq!(patched(&patch), None, "{patch}");
        }
    }
}
