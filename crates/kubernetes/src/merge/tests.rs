//! One table per directive: last applied, live object, manifest, and the patch that kubectl sends.

#![expect(clippy::needless_pass_by_value, reason = "so that json! can stand in its place")]

mod json_merge;
mod laws;
mod lists;
mod maps;
mod scalars;

use serde_json::{Value, json};

use super::*;
use crate::merge::schema::Schema;

/// A case: original, current, modified, and the patch.
type Case = (Value, Value, Value, Value);

fn object(value: Value) -> Object {
    let Value::Object(object) = value else { panic!("an object") };
    object
}

fn shape(kind: &str) -> Shape<'static> {
    let api_version = match kind {
        "Deployment" => "apps/v1",
        "PodDisruptionBudget" => "policy/v1",
        _ => "v1",
    };
    Schema::builtin().shape(api_version, kind).expect("a built-in kind")
}

fn three_way(kind: &str, original: Value, current: Value, modified: Value) -> Result<Value, MergeError> {
    three_way_strategic(&object(original), &object(modified), &object(current), shape(kind))
        .map(Value::Object)
}

/// Checks the patches, and that a second apply changes nothing.
fn check(kind: &str, cases: impl IntoIterator<Item = Case>) {
    for (original, current, modified, expected) in cases {
        let patch = three_way(kind, original, current.clone(), modified.clone()).expect("a patch");
        assert_eq!(patch, expected, "from {current} to {modified}");
        let applied =
            apply_strategic(object(current), object(patch), shape(kind)).expect("it can be applied");
        let again = three_way(kind, modified.clone(), applied.clone().into(), modified).expect("a patch");
        let left = apply_strategic(applied.clone(), object(again), shape(kind)).expect("it can be applied");
        assert_eq!(left, applied, "a second apply changes nothing");
    }
}

fn pod(spec: Value) -> Value {
    json!({ "spec": spec })
}

fn containers(list: Value) -> Value {
    pod(json!({ "containers": list }))
}

/// Such as `["a", "b"]` for containers of these names.
fn named(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "name": name })).collect()
}
