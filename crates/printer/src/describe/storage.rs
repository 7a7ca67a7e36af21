//! Persistent volumes and their claims.

use jiff::Timestamp;
use serde_json::Value;

use super::{Page, RelatedObjects, go_list, time, volumes};
use crate::{
    kinds::storage::{access_modes, storage_class},
    look::Look,
    since,
};

pub(super) fn claim(claim: &Value, related: &RelatedObjects, now: Timestamp, page: &mut Page) {
    page.field(0, "StorageClass", storage_class(claim));
    status(claim, now, page);
    page.field(0, "Volume", claim.text("/spec/volumeName"));
    page.metadata(claim);
    page.field(0, "Finalizers", go_list(claim.list("/metadata/finalizers")));
    let (mut capacity, mut modes) = ("", String::new());
    if !claim.text("/spec/volumeName").is_empty() {
        capacity = claim.text_or("/status/capacity/storage", "0");
        modes = access_modes(claim.list("/status/accessModes"));
    }
    page.field(0, "Capacity", capacity);
    page.field(0, "Access Modes", modes);
    if claim.has("/spec/volumeMode") {
        page.field(0, "VolumeMode", claim.text("/spec/volumeMode"));
    }
    if claim.has("/spec/dataSource") {
        page.line(0, "DataSource:");
        for (name, pointer) in [("APIGroup", "/apiGroup"), ("Kind", "/kind"), ("Name", "/name")] {
            let source = claim.at("/spec/dataSource");
            if source.has(pointer) {
                page.field(1, name, source.text(pointer));
            }
        }
    }
    if related.has("Pod") {
        let uses = |pod: &&Value| {
            let volumes = pod.list("/spec/volumes").iter();
            let mut claims = volumes.map(|volume| volume.text("/persistentVolumeClaim/claimName"));
            claims.any(|name| name == claim.text("/metadata/name"))
        };
        let mut names: Vec<_> =
            related.all("Pod").filter(uses).map(|pod| pod.text("/metadata/name").to_owned()).collect();
        names.sort_unstable();
        page.values("Used By", "", &names);
    }
    let conditions = claim.list("/status/conditions");
    if !conditions.is_empty() {
        page.line(0, "Conditions:");
        page.line(1, "Type\tStatus\tLastProbeTime\tLastTransitionTime\tReason\tMessage");
        page.line(1, "----\t------\t-----------------\t------------------\t------\t-------");
    }
    for condition in conditions {
        page.line(
            1,
            format!(
                "{} \t{} \t{} \t{} \t{} \t{}",
                condition.text("/type"),
                condition.text("/status"),
                time(condition, "/lastProbeTime"),
                time(condition, "/lastTransitionTime"),
                condition.text("/reason"),
                condition.text("/message"),
            ),
        );
    }
}

fn status(object: &Value, now: Timestamp, page: &mut Page) {
    match object.text("/metadata/deletionTimestamp") {
        "" => page.field(0, "Status", object.text("/status/phase")),
        deleted => page.field(0, "Status", format!("Terminating (lasts {})", since(now, deleted))),
    }
}

pub(super) fn volume(volume: &Value, now: Timestamp, page: &mut Page) {
    page.metadata(volume);
    page.field(0, "Finalizers", go_list(volume.list("/metadata/finalizers")));
    page.field(0, "StorageClass", volume.text("/spec/storageClassName"));
    status(volume, now, page);
    let claim = match volume.at("/spec/claimRef") {
        Value::Null => String::new(),
        claim => format!("{}/{}", claim.text("/namespace"), claim.text("/name")),
    };
    page.field(0, "Claim", claim);
    page.field(0, "Reclaim Policy", volume.text("/spec/persistentVolumeReclaimPolicy"));
    page.field(0, "Access Modes", access_modes(volume.list("/spec/accessModes")));
    if volume.has("/spec/volumeMode") {
        page.field(0, "VolumeMode", volume.text("/spec/volumeMode"));
    }
    page.field(0, "Capacity", volume.text_or("/spec/capacity/storage", "0"));
    node_affinity(volume.at("/spec/nodeAffinity/required"), page);
    page.field(0, "Message", volume.text("/status/message"));
    page.line(0, "Source:");
    volumes::source(volume.at("/spec"), page);
}

fn node_affinity(required: &Value, page: &mut Page) {
    if required.is_null() {
        page.field(0, "Node Affinity", "<none>");
        return;
    }
    page.field(0, "Node Affinity", "");
    let terms = required.list("/nodeSelectorTerms");
    page.field(1, "Required Terms", if terms.is_empty() { "<none>" } else { "" });
    for (index, term) in terms.iter().enumerate() {
        let expression = |requirement: &Value| {
            let (key, operator) = (requirement.text("/key"), requirement.text("/operator").to_lowercase());
            let values: Vec<_> = requirement.list("/values").iter().filter_map(Value::as_str).collect();
            let values = if values.is_empty() { String::new() } else { format!(" [{}]", values.join(", ")) };
            format!("{key} {operator}{values}")
        };
        let expressions: Vec<_> = term.list("/matchExpressions").iter().map(expression).collect();
        page.values(&format!("Term {index}"), "    ", &expressions);
    }
}
