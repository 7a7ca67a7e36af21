//! Nodes.

use serde_json::Value;

use super::{Page, conditions, metadata, time};
use crate::{kinds::node::roles, look::Look};

pub(super) fn describe(node: &Value, page: &mut Page) {
    page.field("Roles", roles(node));
    metadata(node, page);
    page.field("CreationTimestamp", time(node, "/metadata/creationTimestamp"));
    let taint = |taint: &Value| match taint.text("/value") {
        "" => format!("{}:{}", taint.text("/key"), taint.text("/effect")),
        value => format!("{}={value}:{}", taint.text("/key"), taint.text("/effect")),
    };
    page.values("Taints", node.list("/spec/taints").iter().map(taint).collect());
    page.field("Unschedulable", node.flag("/spec/unschedulable").to_string());
    conditions(node, page);
    let mut addresses = Page::default();
    for address in node.list("/status/addresses") {
        addresses.field(address.text("/type"), address.text("/address"));
    }
    page.section("Addresses", addresses);
    for (name, pointer) in [("Capacity", "/status/capacity"), ("Allocatable", "/status/allocatable")] {
        page.map(name, node.at(pointer), ": ");
    }
    let mut system = Page::default();
    for (name, field) in [
        ("Kernel Version", "kernelVersion"),
        ("OS Image", "osImage"),
        ("Operating System", "operatingSystem"),
        ("Architecture", "architecture"),
        ("Container Runtime Version", "containerRuntimeVersion"),
        ("Kubelet Version", "kubeletVersion"),
    ] {
        system.field(name, node.text(&format!("/status/nodeInfo/{field}")));
    }
    page.section("System Info", system);
    if node.has("/spec/podCIDR") {
        page.field("PodCIDR", node.text("/spec/podCIDR"));
    }
}
