//! Rollback to a revision.

use serde_json::{Map, Value, json};

use super::{Revision, Workload};

/// Change that rolls back a workload.
#[derive(Debug, Clone, PartialEq)]
pub enum Undo {
    /// None: the workload is at that revision.
    Nothing,
    /// JSON patch (RFC 6902).
    JsonPatch(Value),
    /// Strategic merge patch.
    StrategicMergePatch(Value),
}

/// Label that distinguishes the pods of ReplicaSets.
const HASH: &str = "pod-template-hash";

/// Annotations of the Deployment itself, which are not part of a revision.
const OWN_ANNOTATIONS: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "deprecated.deployment.rollback.to",
];

/// Computes the rollback to a revision; an error if the workload does not allow it now.
pub fn undo(workload: Workload, object: &Value, revision: &Revision) -> Result<Undo, String> {
    let current = object.pointer("/spec/template").cloned().unwrap_or_default();
    if workload == Workload::Deployment && object.pointer("/spec/paused") == Some(&Value::Bool(true)) {
        return Err("you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again".into());
    }
    let wanted = without_hash(revision.template.clone());
    if significant(without_hash(current)) == significant(wanted.clone()) {
        return Ok(Undo::Nothing);
    }
    Ok(match workload {
        Workload::Deployment => Undo::JsonPatch(json!([
            { "op": "replace", "path": "/spec/template", "value": wanted },
            { "op": "replace", "path": "/metadata/annotations", "value": annotations(object, &revision.kept_in) },
        ])),
        Workload::StatefulSet | Workload::DaemonSet => {
            Undo::StrategicMergePatch(revision.kept_in.get("data").cloned().unwrap_or_default())
        }
    })
}

fn annotations(deployment: &Value, replica_set: &Value) -> Map<String, Value> {
    let of = |object: &Value| {
        object.pointer("/metadata/annotations").and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let is_own = |name: &String| OWN_ANNOTATIONS.contains(&name.as_str());
    let own = of(deployment).into_iter().filter(|(name, _)| is_own(name));
    own.chain(of(replica_set).into_iter().filter(|(name, _)| !is_own(name))).collect()
}

fn without_hash(mut template: Value) -> Value {
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(HASH);
    }
    template
}

/// Maps of the pod template, for which an empty one means the same as none. (An empty structure may mean something: `emptyDir: {}`.)
const MAPS: [&str; 5] = ["labels", "annotations", "nodeSelector", "limits", "requests"];

/// Removes values that are equivalent to none.
fn significant(value: Value) -> Value {
    let is_nothing = |name: &str, value: &Value| match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty() && MAPS.contains(&name),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, significant(value)));
            Value::Object(fields.filter(|(name, value)| !is_nothing(name, value)).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(significant).collect()),
        other => other,
    }
}
