//! Rollouts, as kubectl defines them: status, history and undo.
//!
//! Pure functions of objects. Revisions of Deployments are ReplicaSets, those of other workloads ControllerRevisions.

mod history;
mod progress;
mod selector;
#[cfg(test)]
mod tests;
mod undo;

use serde_json::Value;
use spindrift_model::Resource;

pub use history::{Revision, find_revision, revisions};
pub use progress::{Progress, progress};
pub use selector::selector_text;
pub use undo::{Undo, undo};

/// Kind with rollouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Its revisions are ReplicaSets.
    Deployment,
    /// Its revisions are ControllerRevisions.
    StatefulSet,
    /// Its revisions are ControllerRevisions.
    DaemonSet,
}

/// Annotation by which `rollout restart` changes a pod template.
pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

// === impl Workload ===

impl Workload {
    /// Returns none for kinds without rollouts.
    pub fn of(resource: &Resource) -> Option<Self> {
        match (&*resource.group, &*resource.kind) {
            ("apps" | "extensions", "Deployment") => Some(Self::Deployment),
            ("apps", "StatefulSet") => Some(Self::StatefulSet),
            ("apps" | "extensions", "DaemonSet") => Some(Self::DaemonSet),
            _ => None,
        }
    }

    /// Resource of its revisions.
    pub fn kept_in(self) -> Resource {
        let (kind, plural) = match self {
            Self::Deployment => ("ReplicaSet", "replicasets"),
            Self::StatefulSet | Self::DaemonSet => ("ControllerRevision", "controllerrevisions"),
        };
        Resource {
            group: "apps".into(),
            version: "v1".into(),
            kind: kind.into(),
            plural: plural.into(),
            namespaced: true,
        }
    }
}

/// Whether one object is controlled by another.
fn is_controlled_by(object: &Value, owner: &Value) -> bool {
    let uid = owner.pointer("/metadata/uid");
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    uid.is_some()
        && owners.into_iter().flatten().any(|one| one["controller"] == true && one.get("uid") == uid)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
