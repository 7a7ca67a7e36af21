//! Manifests that are merged: whatever they contain, there is a patch or an error that quotes nothing.

use serde_json::Value;
use spindrift_kubernetes::{
    MergeError, Object, Schema, Shape, annotated, apply_json_merge, apply_json_patch, apply_strategic,
    last_applied, normalized, three_way_json, three_way_strategic,
};

use super::{JSON, behaviour};
use crate::Target;

pub(super) const MERGES: Target = Target {
    name: "merges",
    seeds: &[
        r#"[{"spec":{"containers":[{"name":"a","env":[{"name":"X"}]}]}},{"spec":{"containers":[{"name":"b"},{"name":"a"}]}},{"spec":{"containers":[{"name":"a","args":["canary"]}]}}]"#,
        r#"[{"metadata":{"finalizers":["a","b"]}},{"metadata":{"finalizers":["b",1]}},{"metadata":{"finalizers":["c","a"],"$patch":"replace"}}]"#,
        r#"[{"spec":{"volumes":[{"name":"v","emptyDir":{}}]}},{"spec":{"volumes":[{"name":"v","secret":null}],"$retainKeys":["volumes"]}},{"spec":{"$setElementOrder/volumes":[{"name":"v"}],"volumes":[{"$patch":"delete","name":"v"}]}}]"#,
        r#"[{},[{"op":"add","path":"/a/-","value":1},{"op":"move","from":"/a","path":"/b"}],{"a":[]}]"#,
    ],
    words: JSON,
    run: merged,
};

/// Takes a list of the applied, the wanted and the live manifest.
fn merged(input: &[u8]) -> u64 {
    let Ok([original, modified, current]) = serde_json::from_slice::<[Value; 3]>(input) else {
        return behaviour(["no three"]);
    };
    let patched = match &current {
        Value::Object(current) => told(apply_json_patch(current.clone(), &modified)),
        _ => String::new(),
    };
    let (Value::Object(original), Value::Object(modified), Value::Object(current)) =
        (original, modified, current)
    else {
        return behaviour([patched]);
    };
    let modified = annotated(&modified);
    assert!(last_applied(&modified).is_some_and(|applied| applied.is_ok()), "what is written can be read");
    let current = normalized(current);
    let shape = Schema::builtin().shape("v1", "Pod").expect("a built-in kind");
    let strategic = strategically(&original, &modified, &current, shape);
    let json =
        three_way_json(&original, &modified, &current).map(|patch| apply_json_merge(current.clone(), patch));
    behaviour([patched, told(strategic), told(json)])
}

fn strategically(
    original: &Object,
    modified: &Object,
    current: &Object,
    shape: Shape<'_>,
) -> Result<Object, MergeError> {
    // A manifest may itself be meant as a patch.
    drop(apply_strategic(current.clone(), modified.clone(), shape));
    let patch = three_way_strategic(original, modified, current, shape)?;
    apply_strategic(current.clone(), patch, shape)
}

fn told(outcome: Result<Object, MergeError>) -> String {
    match outcome {
        Ok(object) => "x".repeat(Value::Object(object).to_string().len() / 16),
        Err(error) => {
            let words = error.to_string();
            assert!(!words.contains("canary"), "{words}");
            words
        }
    }
}
