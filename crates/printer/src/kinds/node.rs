//! Nodes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::NONE;
use crate::{
    age::UNKNOWN,
    column::{AGE, Builtin, NAME, text, wide},
    look::Look,
};

pub(super) const NODE: &[Builtin] = &[
    NAME,
    text("Status", |node, _| status(node).into()),
    text("Roles", |node, _| roles(node).into()),
    AGE,
    text("Version", |node, _| node.text("/status/nodeInfo/kubeletVersion").into()),
    wide("Internal-IP", |node, _| address(node, "InternalIP").into()),
    wide("External-IP", |node, _| address(node, "ExternalIP").into()),
    wide("OS-Image", |node, _| node.text_or("/status/nodeInfo/osImage", UNKNOWN).into()),
    wide("Kernel-Version", |node, _| {
        let kernel = node.text_or("/status/nodeInfo/kernelVersion", UNKNOWN);
        match node.text("/status/nodeInfo/architecture") {
            "" => kernel.into(),
            architecture => format!("{kernel} ({architecture})").into(),
        }
    }),
    wide("Container-Runtime", |node, _| {
        node.text_or("/status/nodeInfo/containerRuntimeVersion", UNKNOWN).into()
    }),
];

fn status(node: &Value) -> String {
    let ready = match node.condition("Ready").map(|condition| condition.text("/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if node.flag("/spec/unschedulable") { format!("{ready},SchedulingDisabled") } else { ready.to_owned() }
}

/// Roles of a node, from its labels.
pub(crate) fn roles(node: &Value) -> String {
    let mut roles = BTreeSet::new();
    for (label, value) in node.at("/metadata/labels").as_object().into_iter().flatten() {
        if let Some(role) = label.strip_prefix("node-role.kubernetes.io/") {
            roles.insert(role);
        } else if label == "kubernetes.io/role" {
            roles.extend(value.as_str());
        }
    }
    roles.remove("");
    if roles.is_empty() { NONE.to_owned() } else { roles.into_iter().collect::<Vec<_>>().join(",") }
}

fn address<'a>(node: &'a Value, r#type: &str) -> &'a str {
    let addresses = node.list("/status/addresses");
    addresses
        .iter()
        .find(|address| address.text("/type") == r#type)
        .map_or(NONE, |found| found.text("/address"))
}
