//! Revisions of a workload.

use serde_json::Value;

use super::{Workload, is_controlled_by, text};

/// Revision of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// Number.
    pub number: i64,
    /// Value of the annotation `kubernetes.io/change-cause`.
    pub change_cause: Option<String>,
    /// Pod template.
    pub template: Value,
    /// Object that stores the revision.
    pub kept_in: Value,
}

const REVISION: &str = "deployment.kubernetes.io/revision";
const CHANGE_CAUSE: &str = "kubernetes.io/change-cause";

/// Returns the revisions of a workload, oldest first, from the objects that its selector matches.
pub fn revisions(workload: Workload, object: &Value, found: Vec<Value>) -> Vec<Revision> {
    let mut revisions: Vec<_> = found
        .into_iter()
        .filter(|kept| is_controlled_by(kept, object))
        .filter_map(|kept| Revision::of(workload, kept))
        .collect();
    revisions.sort_by_key(|revision| revision.number);
    revisions
}

/// Returns the revision of a number; 0 is the one before the newest.
pub fn find_revision<'a>(
    workload: Workload,
    object: &Value,
    revisions: &'a [Revision],
    wanted: u64,
) -> Result<&'a Revision, String> {
    if wanted > 0 {
        let found = revisions.iter().rev().find(|one| u64::try_from(one.number) == Ok(wanted));
        return found.ok_or_else(|| format!("unable to find specified revision {wanted} in history"));
    }
    revisions.iter().rev().nth(1).ok_or_else(|| match workload {
        Workload::Deployment => {
            format!("no rollout history found for deployment {:?}", text(object, "/metadata/name"))
        }
        Workload::StatefulSet | Workload::DaemonSet => "no last revision to roll back to".into(),
    })
}

// === impl Revision ===

impl Revision {
    fn of(workload: Workload, kept_in: Value) -> Option<Self> {
        let annotation = |name: &str| kept_in.pointer("/metadata/annotations")?.get(name)?.as_str();
        let (number, template) = match workload {
            Workload::Deployment => {
                let number = annotation(REVISION).map_or(Some(0), |number| number.parse().ok())?;
                (number, kept_in.pointer("/spec/template")?.clone())
            }
            Workload::StatefulSet | Workload::DaemonSet => {
                let mut template = kept_in.pointer("/data/spec/template")?.clone();
                template.as_object_mut()?.remove("$patch");
                (kept_in.get("revision")?.as_i64()?, template)
            }
        };
        let change_cause = annotation(CHANGE_CAUSE).map(str::to_owned);
        Some(Self { number, change_cause, template, kept_in })
    }
}
