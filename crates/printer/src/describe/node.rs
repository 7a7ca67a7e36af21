//! Nodes.

use jiff::Timestamp;
use serde_json::Value;

use super::{Page, RelatedObjects, allocated, time};
use crate::{
    kinds::node::roles,
    look::{Look, scalar},
};

const SYSTEM_INFO: [(&str, &str); 9] = [
    ("Machine ID", "machineID"),
    ("System UUID", "systemUUID"),
    ("Boot ID", "bootID"),
    ("Kernel Version", "kernelVersion"),
    ("OS Image", "osImage"),
    ("Operating System", "operatingSystem"),
    ("Architecture", "architecture"),
    ("Container Runtime Version", "containerRuntimeVersion"),
    ("Kubelet Version", "kubeletVersion"),
];

pub(super) fn describe(node: &Value, related: &RelatedObjects, now: Timestamp, page: &mut Page) {
    page.field(0, "Roles", roles(node));
    page.metadata(node);
    page.field(0, "CreationTimestamp", time(node, "/metadata/creationTimestamp"));
    page.values("Taints", "", &taints(node.list("/spec/taints")));
    page.field(0, "Unschedulable", node.flag("/spec/unschedulable"));
    lease(node.text("/metadata/name"), related, page);
    conditions(node, page);
    page.line(0, "Addresses:");
    for address in node.list("/status/addresses") {
        page.field(1, address.text("/type"), address.text("/address"));
    }
    for (title, pointer) in [("Capacity", "/status/capacity"), ("Allocatable", "/status/allocatable")] {
        if node.count(pointer) > 0 {
            page.line(0, format!("{title}:"));
        }
        for (resource, value) in node.at(pointer).as_object().into_iter().flatten() {
            page.field(1, resource, scalar(value).unwrap_or_default());
        }
    }
    page.line(0, "System Info:");
    for (title, field) in SYSTEM_INFO {
        page.field(1, title, node.text(&format!("/status/nodeInfo/{field}")));
    }
    let networks: Vec<_> = node.list("/spec/podCIDRs").iter().filter_map(Value::as_str).collect();
    for (name, value) in [
        ("PodCIDR", node.text("/spec/podCIDR")),
        ("PodCIDRs", &networks.join(",")),
        ("ProviderID", node.text("/spec/providerID")),
    ] {
        if !value.is_empty() {
            page.field(0, name, value);
        }
    }
    allocated::describe(node, related, now, page);
}

fn taints(taints: &[Value]) -> Vec<String> {
    let mut taints: Vec<_> = taints.iter().collect();
    taints.sort_by_key(|taint| (taint.text("/effect"), taint.text("/key")));
    let text = |taint: &&Value| {
        let value = match taint.text("/value") {
            "" => String::new(),
            value => format!("={value}"),
        };
        format!("{}{value}:{}", taint.text("/key"), taint.text("/effect"))
    };
    taints.iter().map(text).collect()
}

fn lease(node: &str, related: &RelatedObjects, page: &mut Page) {
    if !related.has("Lease") {
        return;
    }
    let is_own = |lease: &&Value| {
        lease.text("/metadata/name") == node && lease.text("/metadata/namespace") == "kube-node-lease"
    };
    let Some(lease) = related.all("Lease").find(is_own) else {
        page.field(0, "Lease", format!("Failed to get lease: leases.coordination.k8s.io {node:?} not found"));
        return;
    };
    page.line(0, "Lease:");
    page.field(1, "HolderIdentity", lease.text_or("/spec/holderIdentity", "<unset>"));
    for (name, pointer) in [("AcquireTime", "/spec/acquireTime"), ("RenewTime", "/spec/renewTime")] {
        let at = if lease.has(pointer) { time(lease, pointer) } else { "<unset>".to_owned() };
        page.field(1, name, at);
    }
}

fn conditions(node: &Value, page: &mut Page) {
    let conditions = node.list("/status/conditions");
    if conditions.is_empty() {
        return;
    }
    page.line(0, "Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage");
    page.line(1, "----\t------\t-----------------\t------------------\t------\t-------");
    for condition in conditions {
        page.line(
            1,
            format!(
                "{} \t{} \t{} \t{} \t{} \t{}",
                condition.text("/type"),
                condition.text("/status"),
                time(condition, "/lastHeartbeatTime"),
                time(condition, "/lastTransitionTime"),
                condition.text("/reason"),
                condition.text("/message"),
            ),
        );
    }
}
