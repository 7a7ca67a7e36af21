use super::*;

fn finalizers(list: &[&str]) -> Value {
    json!({ "metadata": { "finalizers": list } })
}

#[test]
fn scalars_are_added_and_removed_one_by_one() {
    check(
        "Pod",
        [
            (
                finalizers(&["a", "b"]),
                finalizers(&["a", "b", "others"]),
                finalizers(&["a", "c"]),
                json!({ "metadata": {
                    "$deleteFromPrimitiveList/finalizers": ["b"],
                    "$setElementOrder/finalizers": ["a", "c"],
                    "finalizers": ["c"],
                } }),
            ),
            (finalizers(&["a"]), finalizers(&["a"]), finalizers(&["a"]), json!({})),
            // An unsorted list gets an order directive with every apply.
            (finalizers(&["b", "a"]), finalizers(&["b", "a"]), finalizers(&["b", "a"]), {
                json!({ "metadata": { "$setElementOrder/finalizers": ["b", "a"] } })
            }),
            (json!({}), json!({ "metadata": {} }), finalizers(&["b", "a"]), finalizers(&["b", "a"])),
            (finalizers(&["a"]), finalizers(&["a", "others"]), json!({ "metadata": {} }), {
                json!({ "metadata": { "finalizers": null } })
            }),
        ],
    );
}

#[test]
fn directives_of_lists_of_scalars_are_executed() {
    let live = finalizers(&["a", "b", "c"]);
    for (patch, expected) in [
        (json!({ "$deleteFromPrimitiveList/finalizers": ["b", "absent"] }), &["a", "c"][..]),
        (json!({ "finalizers": ["d", "a"] }), &["d", "a", "b", "c"]),
        (json!({ "$setElementOrder/finalizers": ["c", "a"] }), &["b", "c", "a"]),
        (
            json!({ "$setElementOrder/finalizers": ["a", "x"], "finalizers": ["x"],
                 "$deleteFromPrimitiveList/finalizers": ["b"] }),
            &["a", "x", "c"],
        ),
    ] {
        let patch = json!({ "metadata": patch });
        let applied = apply_strategic(object(live.clone()), object(patch.clone()), shape("Pod")).unwrap();
        assert_eq!(Value::Object(applied), finalizers(expected), "{patch}");
    }
}
