//! Changes that another client makes to the object between the two manifests.

use serde_json::{Value, json};

use crate::{decisions::Decisions, kinds::Kind};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ForeignChange {
    Nothing,
    /// A JSON merge patch, sent straight to the API server.
    Patch(Value),
    /// It is gone.
    Deletion,
}

pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

// === impl ForeignChange ===

impl ForeignChange {
    pub(crate) fn of(kind: &Kind, case: u64, decisions: &Decisions) -> Self {
        let choices = decisions.within("meddling");
        match choices.number("sort", 0..100) {
            ..15 => Self::Nothing,
            15..19 => Self::Deletion,
            _ => Self::Patch(patch(kind.manifest(case, &decisions.version(2)), &choices)),
        }
    }
}

/// Some parts of another version of the manifest; lists as a whole, as a merge patch has them.
fn patch(mut other: Value, choices: &Decisions) -> Value {
    let mut patch = json!({});
    let metadata = other["metadata"].take();
    for part in ["labels", "annotations", "finalizers"] {
        if choices.chance(part, 25) && !metadata[part].is_null() {
            patch["metadata"][part] = metadata[part].clone();
        }
    }
    if choices.chance("touch", 40) {
        patch["metadata"]["labels"]["touched"] = "yes".into();
    }
    match choices.number("last-applied", 0..100) {
        ..4 => patch["metadata"]["annotations"][LAST_APPLIED] = Value::Null,
        4..8 => patch["metadata"]["annotations"] = Value::Null,
        _ => {}
    }
    let body = other.as_object().unwrap().iter().filter(|(key, _)| !is_identity(key));
    for (key, value) in body {
        match value {
            Value::Object(parts) => {
                for (part, value) in
                    parts.iter().filter(|(part, _)| choices.chance(&format!("{key}/{part}"), 30))
                {
                    let gone = choices.chance(&format!("{key}/{part} gone"), 15);
                    patch[key][part] = if gone { Value::Null } else { value.clone() };
                }
            }
            value if choices.chance(key, 30) => patch[key] = value.clone(),
            _ => {}
        }
    }
    patch
}

fn is_identity(key: &str) -> bool {
    ["apiVersion", "kind", "metadata"].contains(&key)
}
