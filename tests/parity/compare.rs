//! Comparison of two objects, except for fields that differ in any two objects.

use serde_json::Value;

use crate::side::either;

/// Fields that no two objects have in common.
const VOLATILE: [&str; 4] =
    ["/metadata/uid", "/metadata/resourceVersion", "/metadata/creationTimestamp", "/metadata/managedFields"];

/// Fields that are optional, and different each time.
const GIVEN: [&str; 6] = [
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "healthCheckNodePort",
    "deletionTimestamp",
    "kubectl.kubernetes.io/restartedAt",
];

/// Where two objects differ, as JSON pointers with both values; an object that is not there is null.
pub(crate) fn differences(kubectl: &Value, ours: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk("", &comparable(kubectl), &comparable(ours), &mut found);
    found
}

/// The object as it would be on either side.
fn comparable(object: &Value) -> Value {
    let mut text = either(&object.to_string());
    // Jobs select their pods by their own uid.
    if let Some(uid) = object.pointer("/metadata/uid").and_then(Value::as_str) {
        text = text.replace(uid, "uid");
    }
    let mut object: Value = serde_json::from_str(&text).unwrap();
    for pointer in VOLATILE {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        if let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut) {
            parent.remove(key);
        }
    }
    // Controllers write it at some time.
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    calm(&mut object);
    object
}

fn calm(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let is_headless = value == "None" || value.get(0).is_some_and(|first| first == "None");
                if GIVEN.contains(&key.as_str()) && !is_headless {
                    *value = "given".into();
                } else {
                    calm(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(calm),
        _ => {}
    }
}

fn walk(pointer: &str, kubectl: &Value, ours: &Value, found: &mut Vec<String>) {
    match (kubectl, ours) {
        (Value::Object(theirs), Value::Object(mine)) => {
            let keys: std::collections::BTreeSet<_> = theirs.keys().chain(mine.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                walk(&format!("{pointer}/{key}"), &of(theirs), &of(mine), found);
            }
        }
        (Value::Array(theirs), Value::Array(mine)) if theirs.len() == mine.len() => {
            for (index, (theirs, mine)) in theirs.iter().zip(mine).enumerate() {
                walk(&format!("{pointer}/{index}"), theirs, mine, found);
            }
        }
        _ if kubectl != ours => {
            found.push(format!("{pointer} differs\n      kubectl: {kubectl}\n      ours:    {ours}"));
        }
        _ => {}
    }
}

#[test]
fn only_what_is_given_out_may_differ() {
    use serde_json::json;
    let object = |uid: &str, side: &str| {
        json!({
            "metadata": { "uid": uid, "name": "x", "namespace": format!("parity-1-{side}"), "generation": 2 },
            "spec": { "clusterIP": format!("10.0.0.{}", uid.len()), "selector": { "controller": uid }, "list": [1, 2] },
        })
    };
    let (theirs, ours) = (object("one", "west"), object("three", "east"));
    assert_eq!(differences(&theirs, &ours), Vec::<String>::new());
    for (pointer, value) in [
        ("/spec/list/1", json!(3)),
        ("/metadata/generation", json!(3)),
        ("/metadata/name", json!("y")),
        ("/spec/list", json!([1])),
    ] {
        let mut planted = ours.clone();
        *planted.pointer_mut(pointer).unwrap() = value;
        assert_eq!(differences(&theirs, &planted).len(), 1, "{pointer}");
    }
    assert_eq!(differences(&theirs, &Value::Null).len(), 1);
}
