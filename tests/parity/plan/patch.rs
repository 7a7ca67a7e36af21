//! Patches that people write, of all three sorts, with every directive.

use serde_json::{Value, json};

use crate::{
    action::{Action, Mode},
    case::{Case, Step, decisions},
    decisions::Decisions,
    features::{Feature, in_patch},
    foreign_change::ForeignChange,
    kinds::Kind,
};

pub(super) fn patch(seed: u64, number: u64) -> Case {
    let decisions = decisions(seed, number);
    let choices = decisions.within("patch");
    let (kind, action) = match number % 6 {
        // Half of them are strategic, since those have the directives.
        0 | 2 | 4 => strategic(&choices),
        1 | 3 => merge(number, &decisions, &choices),
        _ => json_patch(&choices),
    };
    let features = match &action {
        Action::Patch { sort: "strategic", patch } => in_patch(&patch.to_string()),
        _ => Vec::<Feature>::new(),
    };
    let mut steps = Vec::new();
    if !choices.chance("missing", 4) {
        steps.push(Step::Act(Action::Apply {
            manifest: kind.manifest(number, &decisions),
            mode: Mode::ClientSide,
        }));
    }
    steps.push(Step::Act(action));
    Case { features, ..Case::new(number, kind, steps) }
}

fn strategic(choices: &Decisions) -> (&'static Kind, Action) {
    const WORKLOADS: [&str; 6] =
        ["Deployment", "StatefulSet", "DaemonSet", "Deployment", "CronJob", "Gadget"];
    let kind = Kind::of(choices.one("kind", &WORKLOADS));
    let pod = |pod: Value| match kind.name {
        "CronJob" => json!({ "spec": { "jobTemplate": { "spec": { "template": { "spec": pod } } } } }),
        _ => json!({ "spec": { "template": { "spec": pod } } }),
    };
    let name = choices.one("container", &["app", "proxy", "sidecar", "absent"]);
    // Two of them kubectl never computes: people write them, and here they come more often than others.
    let patch = match choices.number("directive", 0..13) {
        0 => pod(
            json!({ "containers": [{ "name": name, "$patch": "delete" }, { "name": "app", "image": "shop:9" }] }),
        ),
        1 | 10 => {
            pod(json!({ "containers": [{ "name": "only", "image": "shop:9" }, { "$patch": "replace" }] }))
        }
        2 | 11 | 12 => pod(json!({ "containers": [{ "name": name, "image": "shop:9", "$patch": "merge" }] })),
        3 => pod(json!({
            "$setElementOrder/containers": [{ "name": "sidecar" }, { "name": "app" }, { "name": "proxy" }],
            "containers": [{ "name": "app", "image": "shop:9" }],
        })),
        4 => pod(
            json!({ "volumes": [{ "$retainKeys": ["name", "emptyDir"], "name": "config", "emptyDir": {} }] }),
        ),
        5 => json!({ "metadata": {
            "$deleteFromPrimitiveList/finalizers": ["example.com/one"],
            "$setElementOrder/finalizers": ["example.com/two", "example.com/three"],
            "finalizers": ["example.com/three"],
        } }),
        6 => {
            json!({ "metadata": { "labels": { "$patch": choices.one("how", &["replace", "delete", "merge"]), "fresh": "yes" } } })
        }
        7 => pod(json!({ "nodeSelector": { "$patch": "replace", "zone": "b" }, "securityContext": null })),
        8 => pod(json!({ "containers": [{ "image": "without a name" }] })),
        _ => pod(json!({ "containers": [{ "name": "app", "$patch": "nonsense" }] })),
    };
    (kind, Action::Patch { sort: "strategic", patch })
}

/// A merge patch that another client would send, too.
fn merge(number: u64, decisions: &Decisions, choices: &Decisions) -> (&'static Kind, Action) {
    const KINDS: [&str; 8] =
        ["Deployment", "Service", "ConfigMap", "Secret", "Ingress", "Gadget", "Blob", "PodDisruptionBudget"];
    let kind = Kind::of(choices.one("kind", &KINDS));
    let patch = match ForeignChange::of(kind, number, decisions) {
        ForeignChange::Patch(patch) => patch,
        _ => json!({ "metadata": { "labels": { "fresh": "yes", "app": null } } }),
    };
    (kind, Action::Patch { sort: "merge", patch })
}

fn json_patch(choices: &Decisions) -> (&'static Kind, Action) {
    let kind = Kind::of(choices.one("kind", &["Deployment", "ConfigMap", "Gadget", "ClusterRole"]));
    let patch = match choices.number("sort", 0..7) {
        0 => json!([{ "op": "add", "path": "/metadata/labels", "value": { "fresh": "yes" } }]),
        1 => json!([{ "op": "replace", "path": "/metadata/labels/app", "value": "fresh" }]),
        2 => json!([{ "op": "remove", "path": "/metadata/annotations" }]),
        3 => json!([{ "op": "test", "path": "/kind", "value": "Nothing" }]),
        4 => json!([{ "op": "copy", "from": "/metadata/name", "path": "/metadata/annotations/name~1copy" }]),
        5 => json!([{ "op": "add", "path": "/spec/replicas", "value": "many" }]),
        _ => json!([{ "op": "jump", "path": "/metadata/labels" }]),
    };
    (kind, Action::Patch { sort: "json", patch })
}
