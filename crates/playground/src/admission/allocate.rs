//! Values that the server allocates: cluster IPs and ports of services, the labels by which a job selects its pods.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::catalogue::Resource;
use crate::object::{child, default as set, fields, list, metadata, text};
use crate::status::Status;
use crate::storage::Store;

/// Number of service addresses in 10.96.0.0/16; the first one belongs to the API server's own service.
const ADDRESSES: u32 = 65_534;
const NODE_PORTS: std::ops::RangeInclusive<u64> = 30_000..=32_767;

pub(crate) fn allocate(resource: &Resource, object: &mut Value, store: &Store) -> Result<(), Status> {
    match resource.kind.as_str() {
        "Service" if resource.group.is_empty() => service(object, store),
        "Job" if resource.is("jobs.batch") => {
            job(object);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn service(object: &mut Value, store: &Store) -> Result<(), Status> {
    let kind = text(object, "/spec/type").to_owned();
    if kind == "ExternalName" {
        return Ok(());
    }
    let needs_port = |port: &Value| port.get("nodePort").and_then(Value::as_u64).is_none_or(|port| port == 0);
    let wants_ports = matches!(kind.as_str(), "NodePort" | "LoadBalancer")
        && object.pointer("/spec/allocateLoadBalancerNodePorts").and_then(Value::as_bool) != Some(false);
    let wants_address = text(object, "/spec/clusterIP").is_empty();
    if wants_address || (wants_ports && list(object, "/spec/ports").iter().any(needs_port)) {
        let others: Vec<Value> =
            store.scan("services", "").map(|(_, bytes)| crate::storage::parse(bytes)).collect();
        if wants_address {
            let used: HashSet<&str> = others.iter().map(|other| text(other, "/spec/clusterIP")).collect();
            let start = fastrand::u32(2..ADDRESSES);
            let address = (0..ADDRESSES)
                .map(|step| (start + step) % ADDRESSES + 2)
                .map(|number| format!("10.96.{}.{}", number / 256, number % 256))
                .find(|address| !used.contains(address.as_str()));
            let address =
                address.ok_or_else(|| Status::internal("failed to allocate a serviceIP: range is full"))?;
            child(object, "spec").insert("clusterIP".into(), address.into());
        }
        if wants_ports {
            let mut used: HashSet<u64> = others
                .iter()
                .flat_map(|other| list(other, "/spec/ports"))
                .filter_map(|port| port.get("nodePort").and_then(Value::as_u64))
                .collect();
            let Some(Value::Array(ports)) = child(object, "spec").get_mut("ports") else { return Ok(()) };
            for port in ports.iter_mut().filter(|port| needs_port(port)) {
                let start = fastrand::u64(NODE_PORTS);
                let free = (start..=*NODE_PORTS.end()).chain(NODE_PORTS).find(|port| !used.contains(port));
                let free =
                    free.ok_or_else(|| Status::internal("failed to allocate a nodePort: range is full"))?;
                used.insert(free);
                fields(port).insert("nodePort".into(), free.into());
            }
        }
    }
    let address = text(object, "/spec/clusterIP").to_owned();
    set(child(object, "spec"), "clusterIPs", json!([address]));
    Ok(())
}

fn job(object: &mut Value) {
    if object.pointer("/spec/manualSelector").and_then(Value::as_bool) == Some(true) {
        return;
    }
    let uid = text(object, "/metadata/uid").to_owned();
    let name = text(object, "/metadata/name").to_owned();
    let labels = [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ];
    let own = fields(metadata(object).entry("labels").or_insert(Value::Null));
    for (key, value) in labels {
        set(own, key, value.as_str());
    }
    let spec = child(object, "spec");
    set(spec, "selector", json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}));
    let template = fields(spec.entry("template").or_insert(Value::Null));
    let meta = fields(template.entry("metadata").or_insert(Value::Null));
    let template_labels = fields(meta.entry("labels").or_insert(Value::Null));
    for (key, value) in labels {
        set(template_labels, key, value.as_str());
    }
}
