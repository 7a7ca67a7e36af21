//! JSON patches (RFC 6902), with the bounds and errors of the real server.

use serde_json::Value;
use spindrift_kubernetes::{Object, apply_json_patch, depth};

use super::rejected;
use crate::object::MAX_DEPTH;
use crate::status::Status;

/// Number of operations that the real server accepts in one patch.
const MAX_OPERATIONS: usize = 10_000;

/// Checks as much of a patch as the real server does before it looks for the object.
pub(super) fn check(patch: Value) -> Result<Value, Status> {
    let Some(operations) = patch.as_array() else {
        let why = "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
        return Err(Status::bad_request(format!("error decoding patch: {why}")));
    };
    if operations.len() > MAX_OPERATIONS {
        let why = format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::new(413, "RequestEntityTooLarge", why));
    }
    Ok(patch)
}

pub(super) fn apply(object: Object, patch: &Value) -> Result<Object, Status> {
    let patched = apply_json_patch(object, patch).map_err(|_| rejected())?;
    let is_too_deep = patched.values().any(|value| depth(value) >= MAX_DEPTH);
    if is_too_deep { Err(rejected()) } else { Ok(patched) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(patch: &Value) -> Option<Value> {
        let Value::Object(object) = json!({"a": {"b": [1, 2]}, "c/d": "x"}) else { return None };
        Some(apply(object, &check(patch.clone()).ok()?).ok()?.into())
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
