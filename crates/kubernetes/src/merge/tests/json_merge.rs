use super::*;

#[test]
fn custom_resources_are_merged_as_json() {
    for (original, current, modified, expected) in [
        // Lists are replaced; deletions come from the last apply.
        (
            json!({ "spec": { "a": 1, "gone": 2 } }),
            json!({ "spec": { "a": 1, "gone": 2, "other": 3, "list": [1, 2] } }),
            json!({ "spec": { "a": 9, "list": [2] } }),
            json!({ "spec": { "a": 9, "gone": null, "list": [2] } }),
        ),
        (
            json!({ "spec": { "a": 1 } }),
            json!({ "spec": { "a": 1, "b": 2 } }),
            json!({ "spec": { "a": 1 } }),
            json!({}),
        ),
        // An explicit null deletes; in a new map it has no effect.
        (
            json!({}),
            json!({ "spec": { "a": 1 } }),
            json!({ "spec": { "a": null } }),
            json!({ "spec": { "a": null } }),
        ),
        (
            json!({ "spec": { "a": null } }),
            json!({ "spec": { "a": 1 } }),
            json!({ "spec": { "a": null } }),
            json!({}),
        ),
        (
            json!({}),
            json!({}),
            json!({ "spec": { "a": null, "b": { "c": null } } }),
            json!({ "spec": { "a": null, "b": { "c": null } } }),
        ),
        // An empty map is a value.
        (json!({}), json!({}), json!({ "spec": {} }), json!({ "spec": {} })),
        // 1 and 1.0 are one number.
        (json!({}), json!({ "n": [1, { "x": 2.0 }] }), json!({ "n": [1.0, { "x": 2 }] }), json!({})),
        (json!({}), json!({ "n": [1] }), json!({ "n": [1, 2] }), json!({ "n": [1, 2] })),
        // Of another type.
        (json!({}), json!({ "a": { "b": 1 } }), json!({ "a": [1] }), json!({ "a": [1] })),
        // Null fields within new lists are removed; null elements are not.
        (
            json!({}),
            json!({}),
            json!({ "list": [{ "a": null, "b": 1 }, null] }),
            json!({ "list": [{ "b": 1 }, null] }),
        ),
    ] {
        let patch = three_way_json(&object(original), &object(modified.clone()), &object(current.clone()));
        assert_eq!(patch.map(Value::Object), Ok(expected), "from {current} to {modified}");
    }
}

#[test]
fn another_object_is_refused() {
    let live = || json!({ "apiVersion": "e/v1", "kind": "A", "metadata": { "name": "a" } });
    for (key, other) in
        [("apiVersion", json!("e/v2")), ("kind", json!("B")), ("metadata", json!({ "name": "b" }))]
    {
        let mut modified = object(live());
        modified.insert(key.to_owned(), other);
        let patch = three_way_json(&Object::new(), &modified, &object(live()));
        assert_eq!(patch, Err(MergeError::IdentityChanged), "{key}");
    }
}

#[test]
fn merge_patches_are_applied_as_the_server_does() {
    let live = json!({ "a": { "b": 1, "c": [1] }, "d": 1 });
    let patch = json!({ "a": { "b": null, "c": [{ "x": null }] }, "d": { "e": null, "f": 1 }, "g": null });
    let applied = apply_json_merge(object(live), object(patch));
    assert_eq!(Value::Object(applied), json!({ "a": { "c": [{}] }, "d": { "f": 1 } }));
}

#[test]
fn null_removes_objects_merge_and_lists_are_replaced() {
    let target = json!({ "a": { "b": 1, "c": 2 }, "l": [1, 2], "s": "x" });
    let patch = json!({ "a": { "b": null, "d": { "e": null, "f": 1 } }, "l": [3], "s": { "t": 1 } });
    let expected = json!({ "a": { "c": 2, "d": { "f": 1 } }, "l": [3], "s": { "t": 1 } });
    assert_eq!(Value::Object(apply_json_merge(object(target), object(patch))), expected);
}
