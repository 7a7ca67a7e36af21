//! Controllers of pods: deployments, replica sets, stateful sets and daemon sets.

use serde_json::Value;

use super::{Page, RelatedObjects, controlled_by, go_list, pod, shown, time};
use crate::{
    format_labels, format_selector,
    labels::selector_text,
    look::{Look, scalar},
};

pub(super) fn deployment(deployment: &Value, related: &RelatedObjects, page: &mut Page) {
    page.field(0, "CreationTimestamp", time(deployment, "/metadata/creationTimestamp"));
    page.metadata(deployment);
    page.field(0, "Selector", selector_text(deployment.at("/spec/selector")));
    let status = |field: &str| deployment.int(&format!("/status/{field}"));
    page.field(
        0,
        "Replicas",
        format!(
            "{} desired | {} updated | {} total | {} available | {} unavailable",
            deployment.int("/spec/replicas"),
            status("updatedReplicas"),
            status("replicas"),
            status("availableReplicas"),
            status("unavailableReplicas"),
        ),
    );
    page.field(0, "StrategyType", deployment.text("/spec/strategy/type"));
    page.field(0, "MinReadySeconds", deployment.int("/spec/minReadySeconds"));
    if deployment.has("/spec/strategy/rollingUpdate") {
        let unavailable = shown(deployment, "/spec/strategy/rollingUpdate/maxUnavailable");
        let surge = shown(deployment, "/spec/strategy/rollingUpdate/maxSurge");
        page.field(0, "RollingUpdateStrategy", format!("{unavailable} max unavailable, {surge} max surge"));
    }
    pod::template(deployment.at("/spec/template"), page);
    conditions(deployment, page);
    let sets = related.owned("ReplicaSet", deployment);
    let wanted = comparable(deployment.at("/spec/template"));
    let newest = sets
        .iter()
        .filter(|set| comparable(set.at("/spec/template")) == wanted)
        .min_by_key(|set| set.text("/metadata/creationTimestamp"));
    let newest_uid = newest.map(|set| set.text("/metadata/uid"));
    let old: Vec<_> =
        sets.iter().copied().filter(|set| Some(set.text("/metadata/uid")) != newest_uid).collect();
    if !sets.is_empty() {
        page.field(0, "OldReplicaSets", replica_sets(&old));
        page.field(0, "NewReplicaSet", replica_sets(&newest.copied().into_iter().collect::<Vec<_>>()));
    }
}

/// Template without the label that differs between replica sets, and without empty fields.
fn comparable(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove("pod-template-hash");
    }
    without_empty(template)
}

fn without_empty(value: Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, without_empty(value)));
            Value::Object(fields.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_empty).collect()),
        other => other,
    }
}

fn replica_sets(sets: &[&Value]) -> String {
    let text = |set: &&Value| {
        let (created, wanted) = (set.int("/status/replicas"), set.int("/spec/replicas"));
        format!("{} ({created}/{wanted} replicas created)", set.text("/metadata/name"))
    };
    let all: Vec<_> = sets.iter().map(text).collect();
    if all.is_empty() { "<none>".to_owned() } else { all.join(", ") }
}

pub(super) fn replica_set(set: &Value, related: &RelatedObjects, page: &mut Page) {
    let selector = set.at("/spec/selector");
    // Only the selector of a ReplicationController is a plain map.
    let is_plain = set.text("/kind") == "ReplicationController";
    page.field(0, "Selector", if is_plain { format_labels(selector) } else { format_selector(selector) });
    page.metadata(set);
    controlled_by(set, page);
    let (current, desired) = (set.int("/status/replicas"), set.int("/spec/replicas"));
    page.field(0, "Replicas", format!("{current} current / {desired} desired"));
    pods_status(set, related, page);
    pod::template(set.at("/spec/template"), page);
    conditions(set, page);
}

pub(super) fn stateful_set(set: &Value, related: &RelatedObjects, page: &mut Page) {
    page.field(0, "CreationTimestamp", time(set, "/metadata/creationTimestamp"));
    page.field(0, "Selector", selector_text(set.at("/spec/selector")));
    page.metadata(set);
    let (desired, total) = (set.int("/spec/replicas"), set.int("/status/replicas"));
    page.field(0, "Replicas", format!("{desired} desired | {total} total"));
    page.field(0, "Update Strategy", set.text("/spec/updateStrategy/type"));
    if set.has("/spec/updateStrategy/rollingUpdate/partition") {
        page.field(1, "Partition", set.int("/spec/updateStrategy/rollingUpdate/partition"));
        if let Some(unavailable) = set.scalar("/spec/updateStrategy/rollingUpdate/maxUnavailable") {
            page.field(1, "MaxUnavailable", unavailable);
        }
    }
    pods_status(set, related, page);
    pod::template(set.at("/spec/template"), page);
    let claims = set.list("/spec/volumeClaimTemplates");
    page.line(0, if claims.is_empty() { "Volume Claims:\t<none>" } else { "Volume Claims:" });
    for claim in claims {
        page.field(1, "Name", claim.text("/metadata/name"));
        page.field(1, "StorageClass", claim.text("/spec/storageClassName"));
        page.labels("Labels", "  ", claim.at("/metadata/labels"));
        page.labels("Annotations", "  ", claim.at("/metadata/annotations"));
        let size = claim.at("/spec/resources/requests/storage");
        page.field(1, "Capacity", scalar(size).unwrap_or_else(|| "<default>".to_owned()));
        page.field(1, "Access Modes", go_list(claim.list("/spec/accessModes")));
    }
}

pub(super) fn daemon_set(set: &Value, related: &RelatedObjects, page: &mut Page) {
    page.field(0, "Selector", selector_text(set.at("/spec/selector")));
    page.field(0, "Node-Selector", format_labels(set.at("/spec/template/spec/nodeSelector")));
    page.metadata(set);
    for (name, field) in [
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ] {
        page.line(0, format!("{name}: {}", set.int(&format!("/status/{field}"))));
    }
    pods_status(set, related, page);
    pod::template(set.at("/spec/template"), page);
}

/// Number of owned pods in each phase.
fn pods_status(owner: &Value, related: &RelatedObjects, page: &mut Page) {
    if !related.has("Pod") {
        page.field(0, "Pods Status", "<unknown> (pods are not cached)");
        return;
    }
    let pods = related.owned("Pod", owner);
    let count = |phase: &str| pods.iter().filter(|pod| pod.text("/status/phase") == phase).count();
    page.field(
        0,
        "Pods Status",
        format!(
            "{} Running / {} Waiting / {} Succeeded / {} Failed",
            count("Running"),
            count("Pending"),
            count("Succeeded"),
            count("Failed")
        ),
    );
}

fn conditions(object: &Value, page: &mut Page) {
    let conditions = object.list("/status/conditions");
    if conditions.is_empty() {
        return;
    }
    page.line(0, "Conditions:\n  Type\tStatus\tReason");
    page.line(1, "----\t------\t------");
    for condition in conditions {
        let (kind, status) = (condition.text("/type"), condition.text("/status"));
        page.line(1, format!("{kind} \t{status}\t{}", condition.text("/reason")));
    }
}
