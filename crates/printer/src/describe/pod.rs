//! Pods and pod templates.

use jiff::Timestamp;
use serde_json::Value;

use super::{Page, containers, containers::Containers, controlled_by, time, volumes};
use crate::{format_selector, look::Look, since};

pub(super) fn describe(pod: &Value, now: Timestamp, page: &mut Page) {
    if pod.has("/spec/priority") {
        page.field(0, "Priority", pod.int("/spec/priority"));
    }
    for (name, pointer) in [
        ("Priority Class Name", "/spec/priorityClassName"),
        ("Runtime Class Name", "/spec/runtimeClassName"),
        ("Service Account", "/spec/serviceAccountName"),
    ] {
        if !pod.text(pointer).is_empty() {
            page.field(0, name, pod.text(pointer));
        }
    }
    match pod.text("/spec/nodeName") {
        "" => page.field(0, "Node", "<none>"),
        node => page.field(0, "Node", format!("{node}/{}", pod.text("/status/hostIP"))),
    }
    if pod.has("/status/startTime") {
        page.field(0, "Start Time", time(pod, "/status/startTime"));
    }
    page.metadata(pod);
    status(pod, now, page);
    containers::seccomp(pod.at("/spec/securityContext/seccompProfile"), 0, 0, page);
    page.field(0, "IP", pod.text("/status/podIP"));
    let addresses = pod.list("/status/podIPs");
    page.line(0, if addresses.is_empty() { "IPs:\t<none>" } else { "IPs:" });
    for address in addresses {
        page.field(1, "IP", address.text("/ip"));
    }
    controlled_by(pod, page);
    if !pod.text("/status/nominatedNodeName").is_empty() {
        page.field(0, "NominatedNodeName", pod.text("/status/nominatedNodeName"));
    }
    if pod.has("/spec/resources") {
        page.line(0, "Resources:");
        containers::resources(pod.at("/spec/resources"), 1, page);
    }
    for (title, list, statuses) in [
        ("Init Containers", "/spec/initContainers", "/status/initContainerStatuses"),
        ("Containers", "/spec/containers", "/status/containerStatuses"),
        ("Ephemeral Containers", "/spec/ephemeralContainers", "/status/ephemeralContainerStatuses"),
    ] {
        let containers = pod.list(list);
        if !containers.is_empty() || title == "Containers" {
            let statuses = pod.list(statuses);
            Containers { title, items: containers, statuses, pod: Some(pod), indent: "" }.describe(page);
        }
    }
    conditions(pod, page);
    volumes::describe(pod.list("/spec/volumes"), "", page);
    page.field(0, "QoS Class", pod.text("/status/qosClass"));
    page.labels("Node-Selectors", "", pod.at("/spec/nodeSelector"));
    page.values("Tolerations", "", &tolerations(pod.list("/spec/tolerations")));
    spread(pod.list("/spec/topologySpreadConstraints"), "", page);
}

fn status(pod: &Value, now: Timestamp, page: &mut Page) {
    let phase = pod.text("/status/phase");
    if pod.has("/metadata/deletionTimestamp") && !matches!(phase, "Failed" | "Succeeded") {
        let lasts = since(now, pod.text("/metadata/deletionTimestamp"));
        page.field(0, "Status", format!("Terminating (lasts {lasts})"));
        let grace = pod.int("/metadata/deletionGracePeriodSeconds");
        page.field(0, "Termination Grace Period", format!("{grace}s"));
    } else {
        page.field(0, "Status", phase);
    }
    for (name, pointer) in [("Reason", "/status/reason"), ("Message", "/status/message")] {
        if !pod.text(pointer).is_empty() {
            page.field(0, name, pod.text(pointer));
        }
    }
}

fn conditions(pod: &Value, page: &mut Page) {
    let conditions = pod.list("/status/conditions");
    let gates = pod.list("/spec/readinessGates");
    if !gates.is_empty() {
        page.line(0, "Readiness Gates:\n  Type\tStatus");
    }
    for gate in gates {
        let kind = gate.text("/conditionType");
        let status = conditions.iter().find(|condition| condition.text("/type") == kind);
        page.line(1, format!("{kind} \t{} ", status.map_or("<none>", |status| status.text("/status"))));
    }
    if !conditions.is_empty() {
        page.line(0, "Conditions:\n  Type\tStatus");
    }
    for condition in conditions {
        page.line(1, format!("{} \t{} ", condition.text("/type"), condition.text("/status")));
    }
}

fn tolerations(tolerations: &[Value]) -> Vec<String> {
    let mut tolerations: Vec<_> = tolerations.iter().collect();
    tolerations.sort_by_key(|toleration| toleration.text("/key"));
    let text = |toleration: &&Value| {
        let mut text = toleration.text("/key").to_owned();
        for (begin, pointer) in [("=", "/value"), (":", "/effect")] {
            if !toleration.text(pointer).is_empty() {
                text.extend([begin, toleration.text(pointer)]);
            }
        }
        if toleration.text("/operator") == "Exists" && toleration.text("/value").is_empty() {
            text.push_str(if text.is_empty() { "op=Exists" } else { " op=Exists" });
        }
        if toleration.has("/tolerationSeconds") {
            text.extend([" for ", &toleration.int("/tolerationSeconds").to_string(), "s"]);
        }
        text
    };
    tolerations.iter().map(text).collect()
}

fn spread(constraints: &[Value], indent: &str, page: &mut Page) {
    if constraints.is_empty() {
        return;
    }
    let mut constraints: Vec<_> = constraints.iter().collect();
    constraints.sort_by_key(|constraint| constraint.text("/topologyKey"));
    let text = |constraint: &&Value| {
        let selector = match constraint.at("/labelSelector") {
            Value::Null => String::new(),
            selector => format!(" for selector {}", format_selector(selector)),
        };
        format!(
            "{}:{} when max skew {} is exceeded{selector}",
            constraint.text("/topologyKey"),
            constraint.text("/whenUnsatisfiable"),
            constraint.int("/maxSkew"),
        )
    };
    let texts: Vec<_> = constraints.iter().map(text).collect();
    page.values("Topology Spread Constraints", indent, &texts);
}

/// Describes a pod template.
pub(super) fn template(template: &Value, page: &mut Page) {
    page.line(0, "Pod Template:");
    page.labels("  Labels", "", template.at("/metadata/labels"));
    if template.count("/metadata/annotations") > 0 {
        page.annotations("  Annotations", template.at("/metadata/annotations"));
    }
    if !template.text("/spec/serviceAccountName").is_empty() {
        page.field(1, "Service Account", template.text("/spec/serviceAccountName"));
    }
    for (title, list) in [("Init Containers", "/spec/initContainers"), ("Containers", "/spec/containers")] {
        let containers = template.list(list);
        if !containers.is_empty() || title == "Containers" {
            Containers { title, items: containers, statuses: &[], pod: None, indent: "  " }.describe(page);
        }
    }
    volumes::describe(template.list("/spec/volumes"), "  ", page);
    spread(template.list("/spec/topologySpreadConstraints"), "  ", page);
    if !template.text("/spec/priorityClassName").is_empty() {
        page.field(1, "Priority Class Name", template.text("/spec/priorityClassName"));
    }
    page.labels("  Node-Selectors", "", template.at("/spec/nodeSelector"));
    page.values("  Tolerations", "", &tolerations(template.list("/spec/tolerations")));
}
