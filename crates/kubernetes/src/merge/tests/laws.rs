//! Laws for all manifests: the result contains the manifest, keeps fields of others, and a second apply changes nothing.

use proptest::prelude::*;

use super::*;

/// Pods with few names and values, so that they collide.
fn pods() -> impl Strategy<Value = Value> {
    let value = || prop::sample::select(vec!["1", "2", "3"]);
    let env = || prop::collection::btree_map(prop::sample::select(vec!["X", "Y", "Z"]), value(), 0..3);
    let volume = prop_oneof![
        value().prop_map(|name| json!({ "configMap": { "name": name } })),
        Just(json!({ "emptyDir": {} })),
        value().prop_map(|name| json!({ "secret": { "secretName": name } })),
    ];
    let container = (prop::option::of(value()), env(), prop::collection::vec(value(), 0..3));
    let containers = prop::collection::vec((prop::sample::select(vec!["a", "b", "c", "d"]), container), 0..4);
    let volumes = prop::collection::btree_map(prop::sample::select(vec!["v", "w"]), volume, 0..3);
    let finalizers = prop::collection::btree_set(prop::sample::select(vec!["f", "g", "h"]), 0..3);
    let labels = prop::collection::btree_map(prop::sample::select(vec!["k", "l", "m"]), value(), 0..3);
    (containers, volumes, finalizers, labels).prop_map(|(containers, volumes, finalizers, labels)| {
        let mut seen = Vec::new();
        let mut list = Vec::new();
        for (name, (image, env, args)) in containers {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            let env: Value =
                env.into_iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
            let mut container = json!({ "name": name, "env": env, "args": args });
            if let Some(image) = image {
                container["image"] = image.into();
            }
            list.push(container);
        }
        let volumes: Value = volumes
            .into_iter()
            .map(|(name, mut volume)| {
                volume["name"] = name.into();
                volume
            })
            .collect();
        json!({
            "metadata": { "labels": labels, "finalizers": finalizers },
            "spec": { "containers": list, "volumes": volumes },
        })
    })
}

fn apply(original: &Value, current: &Value, modified: &Value) -> Value {
    let patch = three_way("Pod", original.clone(), current.clone(), modified.clone()).expect("a patch");
    apply_strategic(object(current.clone()), object(patch), shape("Pod")).expect("it can be applied").into()
}

/// Returns the live object after others have set their fields and the original was applied.
fn live(original: &Value, others: &Value) -> Value {
    apply(&json!({}), others, original)
}

fn find<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list.as_array()?.iter().find(|element| element["name"] == name)
}

/// Asserts that an object contains the manifest, with merged lists in its order.
fn assert_contains(got: &Value, wanted: &Value, path: &str) {
    match wanted {
        Value::Object(map) => {
            map.iter().for_each(|(key, wanted)| assert_contains(&got[key], wanted, &format!("{path}.{key}")));
        }
        Value::Array(list) if list.first().is_some_and(|first| first.get("name").is_some()) => {
            for wanted in list {
                let name = wanted["name"].as_str().expect("a name");
                let got = find(got, name).unwrap_or_else(|| panic!("{path} lacks {name}"));
                assert_contains(got, wanted, &format!("{path}[{name}]"));
            }
        }
        Value::Array(list) if path.ends_with("finalizers") => {
            let got = got.as_array().unwrap_or_else(|| panic!("{path} is no list"));
            assert!(list.iter().all(|wanted| got.contains(wanted)), "{path}");
        }
        wanted => {
            let nothing = wanted.as_array().is_some_and(Vec::is_empty) && !path.ends_with("args");
            assert!(nothing || got == wanted, "{path}: {got} instead of {wanted}");
        }
    }
}

proptest! {
    #[test]
    fn everything_wanted_is_there(original in pods(), others in pods(), modified in pods()) {
        assert_contains(&apply(&original, &live(&original, &others), &modified), &modified, "");
    }

    #[test]
    fn applying_again_changes_nothing(original in pods(), others in pods(), modified in pods()) {
        let applied = apply(&original, &live(&original, &others), &modified);
        prop_assert_eq!(apply(&modified, &applied, &modified), applied);
    }

    #[test]
    fn without_other_writers_the_result_is_the_manifest(original in pods(), modified in pods()) {
        prop_assert_eq!(apply(&original, &original, &modified), modified);
    }

    #[test]
    fn additions_of_others_stay(modified in pods(), name in "[p-s]", label in "[p-s]") {
        let mut current = modified.clone();
        current["spec"]["containers"].as_array_mut().expect("a list").push(json!({ "name": &name, "image": "x" }));
        current["metadata"]["labels"][&label] = "x".into();
        let applied = apply(&modified, &current, &modified);
        prop_assert!(find(&applied["spec"]["containers"], &name).is_some());
        prop_assert_eq!(&applied["metadata"]["labels"][&label], "x");
    }
}
