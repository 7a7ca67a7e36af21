use super::*;

#[test]
fn only_fields_of_the_last_apply_are_deleted() {
    check(
        "ConfigMap",
        [
            (
                json!({ "data": { "a": "1", "gone": "2" } }),
                json!({ "data": { "a": "1", "gone": "2", "other": "3" } }),
                json!({ "data": { "a": "9" } }),
                json!({ "data": { "a": "9", "gone": null } }),
            ),
            // Another writer removed it already: the patch deletes it all the same.
            (
                json!({ "data": { "gone": "2" }, "kept": 1 }),
                json!({ "kept": 1 }),
                json!({ "kept": 1 }),
                json!({ "data": null }),
            ),
            // Nothing to do.
            (
                json!({ "data": { "a": "1" } }),
                json!({ "data": { "a": "1", "b": "2" } }),
                json!({ "data": { "a": "1" } }),
                json!({}),
            ),
            // Never applied: nothing is deleted.
            (
                json!({}),
                json!({ "data": { "b": "2" } }),
                json!({ "data": { "a": "1" } }),
                json!({ "data": { "a": "1" } }),
            ),
            // An empty map is a value if there was none, and has no effect otherwise.
            (json!({}), json!({}), json!({ "data": {} }), json!({ "data": {} })),
            (json!({}), json!({ "data": { "a": "1" } }), json!({ "data": {} }), json!({})),
            // Of another type.
            (
                json!({}),
                json!({ "data": { "a": "1" } }),
                json!({ "data": "text" }),
                json!({ "data": "text" }),
            ),
        ],
    );
}

#[test]
fn nulls_of_a_manifest_delete() {
    check(
        "ConfigMap",
        [
            (
                json!({}),
                json!({ "data": { "a": "1" } }),
                json!({ "data": { "a": null } }),
                json!({ "data": { "a": null } }),
            ),
            (
                json!({}),
                json!({ "data": {} }),
                json!({ "data": { "a": null } }),
                json!({ "data": { "a": null } }),
            ),
            (json!({ "data": null }), json!({}), json!({ "data": null }), json!({ "data": null })),
        ],
    );
}

#[test]
fn integers_differ_from_floats() {
    let patch =
        |old: Value, new: Value| three_way("ConfigMap", json!({}), json!({ "n": old }), json!({ "n": new }));
    assert_eq!(patch(json!(3), json!(3)), Ok(json!({})));
    assert_eq!(patch(json!(3), json!(3.5)), Ok(json!({ "n": 3.5 })));
    assert_eq!(patch(json!(3.0), json!(3)), Ok(json!({ "n": 3 })));
}

#[test]
fn a_strategy_of_another_type_clears_the_fields_of_the_former() {
    let rolling = json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1 } });
    let spec = |strategy: &Value| json!({ "spec": { "strategy": strategy } });
    check(
        "Deployment",
        [
            (
                spec(&rolling),
                spec(&rolling),
                spec(&json!({ "type": "Recreate" })),
                json!({ "spec": { "strategy": {
                    "$retainKeys": ["type"], "rollingUpdate": null, "type": "Recreate",
                } } }),
            ),
            // Defaults of the server are cleared, though they were never applied.
            (
                spec(&json!({ "type": "Recreate" })),
                spec(&rolling),
                spec(&json!({ "type": "Recreate" })),
                json!({ "spec": { "strategy": { "$retainKeys": ["type"], "type": "Recreate" } } }),
            ),
            (spec(&rolling), spec(&rolling), spec(&rolling), json!({})),
            // A field that is null is not retained.
            (
                spec(&rolling),
                spec(&rolling),
                spec(&json!({ "type": "Recreate", "rollingUpdate": null })),
                json!({ "spec": { "strategy": {
                    "$retainKeys": ["type"], "rollingUpdate": null, "type": "Recreate",
                } } }),
            ),
        ],
    );
}

#[test]
fn replaced_fields_are_sent_even_if_unchanged() {
    let spec = |app: &str| json!({ "spec": { "selector": { "matchLabels": { "app": app } } } });
    check(
        "PodDisruptionBudget",
        [(spec("a"), spec("a"), spec("a"), spec("a")), (spec("a"), spec("a"), spec("b"), spec("b"))],
    );
}

#[test]
fn directives_of_a_patch_are_executed() {
    let live = json!({ "data": { "a": "1", "b": "2" } });
    for (patch, expected) in [
        (json!({ "data": { "$patch": "replace", "c": "3" } }), json!({ "data": { "c": "3" } })),
        (json!({ "data": { "$patch": "delete" } }), json!({ "data": {} })),
        (json!({ "data": { "b": null, "x": null } }), json!({ "data": { "a": "1" } })),
        (json!({ "data": { "$retainKeys": ["b"], "b": "9" } }), json!({ "data": { "b": "9" } })),
        (json!({ "new": { "a": null, "b": { "$patch": "delete" }, "c": 1 } }), {
            json!({ "data": { "a": "1", "b": "2" }, "new": { "c": 1 } })
        }),
    ] {
        let applied = apply_strategic(object(live.clone()), object(patch.clone()), shape("ConfigMap"));
        assert_eq!(applied.map(Value::Object), Ok(expected), "{patch}");
    }
    for patch in [
        json!({ "data": { "$patch": "merge" } }),
        json!({ "data": { "$patch": 1 } }),
        json!({ "data": { "$retainKeys": ["a"], "b": "9" } }),
        json!({ "data": { "$retainKeys": "a" } }),
        json!({ "$setElementOrder": [] }),
        json!({ "$setElementOrder/data": [] }),
        json!({ "$setElementOrder/list": {} }),
        json!({ "$deleteFromPrimitiveList": [] }),
    ] {
        let applied = apply_strategic(object(live.clone()), object(patch.clone()), shape("ConfigMap"));
        assert!(matches!(applied, Err(MergeError::BadDirective { .. })), "{patch}: {applied:?}");
    }
}

#[test]
fn a_manifest_with_a_directive_keeps_it() {
    let with = |directive: &str| json!({ "data": { "$patch": directive } });
    assert_eq!(three_way("ConfigMap", json!({}), with("replace"), with("replace")), Ok(json!({})));
    let not_a_string =
        three_way("ConfigMap", json!({}), json!({ "$patch": 1 }), json!({ "$patch": "delete" }));
    assert!(matches!(not_a_string, Err(MergeError::BadDirective { .. })), "{not_a_string:?}");
}
