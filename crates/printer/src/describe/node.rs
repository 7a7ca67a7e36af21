//! Nodes, with the pods that run on them.

use jiff::Timestamp;
use serde_json::Value;

use super::{Page, RelatedObjects, time};
use crate::{
    kinds::node::roles,
    look::{Look, scalar},
    quantity, since,
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

/// Resources with a row of their own in every table.
const COMMON: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

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
    pods(node, related, now, page);
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

fn pods(node: &Value, related: &RelatedObjects, now: Timestamp, page: &mut Page) {
    if !related.has("Pod") {
        page.field(0, "Pods", "<unknown> (pods are not cached)");
        return;
    }
    let runs_here = |pod: &&Value| {
        pod.text("/spec/nodeName") == node.text("/metadata/name")
            && !matches!(pod.text("/status/phase"), "Succeeded" | "Failed")
    };
    let pods: Vec<_> = related.all("Pod").filter(runs_here).collect();
    page.field(0, "Non-terminated Pods", format!("({} in total)", pods.len()));
    page.line(1, "Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge");
    page.line(1, "---------\t----\t\t------------\t----------\t---------------\t-------------\t---");
    let room = match node.at("/status/allocatable") {
        Value::Object(room) if !room.is_empty() => node.at("/status/allocatable"),
        _ => node.at("/status/capacity"),
    };
    for pod in &pods {
        let cells: Vec<_> = ["cpu", "memory"]
            .iter()
            .flat_map(|resource| {
                ["requests", "limits"]
                    .map(|list| with_percentage(resource, total(&[pod], list, resource), room))
            })
            .collect();
        let age = since(now, pod.text("/metadata/creationTimestamp"));
        let (namespace, name) = (pod.text("/metadata/namespace"), pod.text("/metadata/name"));
        page.line(1, format!("{namespace}\t{name}\t\t{}\t{age}", cells.join("\t")));
    }
    page.line(0, "Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)");
    page.line(1, "Resource\tRequests\tLimits");
    page.line(1, "--------\t--------\t------");
    for resource in COMMON {
        let cells =
            ["requests", "limits"].map(|list| with_percentage(resource, total(&pods, list, resource), room));
        page.line(1, format!("{resource}\t{}", cells.join("\t")));
    }
    let others = room.as_object().into_iter().flatten().map(|(resource, _)| resource.as_str());
    let (huge, extended): (Vec<_>, Vec<_>) = others
        .filter(|resource| !COMMON.contains(resource) && !matches!(*resource, "pods" | "storage"))
        .partition(|resource| resource.starts_with("hugepages-"));
    for resource in huge {
        let cells =
            ["requests", "limits"].map(|list| with_percentage(resource, total(&pods, list, resource), room));
        page.line(1, format!("{resource}\t{}", cells.join("\t")));
    }
    for resource in extended {
        let cells = ["requests", "limits"].map(|list| text(resource, total(&pods, list, resource)));
        page.line(1, format!("{resource}\t{}", cells.join("\t")));
    }
}

/// Requests or limits of all pods: containers run together, init containers one after the other.
fn total(pods: &[&Value], list: &str, resource: &str) -> f64 {
    let of = |container: &Value| {
        let amount = container.pointer(&format!("/resources/{list}")).and_then(|all| all.get(resource));
        amount.and_then(scalar).and_then(|text| quantity::parse(&text)).unwrap_or_default()
    };
    let of_pod = |pod: &&Value| {
        if let Some(whole) = pod.pointer(&format!("/spec/resources/{list}")).and_then(|all| all.get(resource))
        {
            return scalar(whole).and_then(|text| quantity::parse(&text)).unwrap_or_default();
        }
        let together: f64 = pod.list("/spec/containers").iter().map(of).sum();
        let first = pod.list("/spec/initContainers").iter().map(of).fold(0.0, f64::max);
        let overhead = pod.at("/spec/overhead").get(resource).and_then(scalar);
        together.max(first) + overhead.and_then(|text| quantity::parse(&text)).unwrap_or_default()
    };
    pods.iter().map(of_pod).sum()
}

fn with_percentage(resource: &str, amount: f64, room: &Value) -> String {
    let room = room.get(resource).and_then(scalar).and_then(|text| quantity::parse(&text));
    let percentage = room.filter(|room| *room > 0.0).map_or(0.0, |room| amount / room * 100.0);
    format!("{} ({:.0}%)", text(resource, amount), percentage.floor())
}

/// Quantity in its canonical form: the largest unit that divides it.
fn text(resource: &str, amount: f64) -> String {
    if resource == "cpu" {
        let millis = (amount * 1000.0).round();
        return if millis % 1000.0 == 0.0 {
            format!("{:.0}", millis / 1000.0)
        } else {
            format!("{millis:.0}m")
        };
    }
    let units = [(6, "Ei"), (5, "Pi"), (4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")];
    for (power, unit) in units {
        let size = 1024f64.powi(power);
        if amount > 0.0 && amount % size == 0.0 {
            return format!("{:.0}{unit}", amount / size);
        }
    }
    format!("{amount:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_canonical() {
        for (resource, amount, expected) in [
            ("cpu", 0.25, "250m"),
            ("cpu", 2.0, "2"),
            ("cpu", 0.0, "0"),
            ("memory", 1_610_612_736.0, "1536Mi"),
            ("memory", 1000.0, "1000"),
            ("memory", 0.0, "0"),
        ] {
            assert_eq!(text(resource, amount), expected);
        }
    }
}
