//! Services, ingresses, network policies and related kinds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::NONE;
use crate::{
    column::{AGE, Builtin, NAME, named, text, wide},
    format_labels, format_selector,
    look::{Look, entry},
};

pub(super) const SERVICE: &[Builtin] = &[
    NAME,
    text("Type", |service, _| service.text("/spec/type").into()),
    text("Cluster-IP", |service, _| {
        // An empty address is shown as empty; an empty list is not.
        service
            .list("/spec/clusterIPs")
            .first()
            .map_or(NONE.into(), |ip| ip.as_str().unwrap_or_default().into())
    }),
    text("External-IP", |service, _| external_ip(service).into()),
    text("Port(s)", |service, _| ports(service).into()),
    AGE,
    wide("Selector", |service, _| format_labels(service.at("/spec/selector")).into()),
];

pub(super) const INGRESS: &[Builtin] = &[
    NAME,
    text("Class", |ingress, _| ingress.text_or("/spec/ingressClassName", NONE).into()),
    text("Hosts", |ingress, _| hosts(ingress.list("/spec/rules")).into()),
    text("Address", |ingress, _| load_balancer(ingress).into()),
    text("Ports", |ingress, _| if ingress.count("/spec/tls") > 0 { "80, 443".into() } else { "80".into() }),
    AGE,
];

pub(super) const INGRESS_CLASS: &[Builtin] = &[
    named(|class, _| {
        let is_default = entry(class, "/metadata/annotations", "ingressclass.kubernetes.io/is-default-class")
            == Some("true");
        super::storage::name_of_class(class, is_default)
    }),
    text("Controller", |class, _| class.text("/spec/controller").into()),
    text("Parameters", |class, _| {
        let (group, kind) = (class.text("/spec/parameters/apiGroup"), class.text("/spec/parameters/kind"));
        let name = class.text("/spec/parameters/name");
        match (class.has("/spec/parameters"), class.has("/spec/parameters/apiGroup")) {
            (false, _) => NONE.into(),
            (true, false) => format!("{kind}/{name}").into(),
            (true, true) => format!("{kind}.{group}/{name}").into(),
        }
    }),
    AGE,
];

pub(super) const NETWORK_POLICY: &[Builtin] =
    &[NAME, text("Pod-Selector", |policy, _| format_selector(policy.at("/spec/podSelector")).into()), AGE];

pub(super) const SERVICE_CIDR: &[Builtin] = &[
    NAME,
    text("CIDRs", |cidr, _| {
        cidr.list("/spec/cidrs").iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",").into()
    }),
    AGE,
];

// No age: the API server computes one, but defines no column for it.
pub(super) const IP_ADDRESS: &[Builtin] = &[
    NAME,
    text("ParentRef", |address, _| {
        if !address.has("/spec/parentRef") {
            return NONE.into();
        }
        let mut parent = address.text("/spec/parentRef/resource").to_lowercase();
        for (separator, field) in [
            ('.', "/spec/parentRef/group"),
            ('/', "/spec/parentRef/namespace"),
            ('/', "/spec/parentRef/name"),
        ] {
            if !address.text(field).is_empty() {
                parent.push(separator);
                parent.push_str(address.text(field));
            }
        }
        parent.into()
    }),
];

fn external_ip(service: &Value) -> String {
    let mut external: Vec<_> =
        service.list("/spec/externalIPs").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    match service.text("/spec/type") {
        "ClusterIP" | "NodePort" if external.is_empty() => NONE.to_owned(),
        "ClusterIP" | "NodePort" => external.join(","),
        "LoadBalancer" => {
            let balancer = load_balancer(service);
            if !balancer.is_empty() {
                external.insert(0, balancer);
            }
            if external.is_empty() { "<pending>".to_owned() } else { external.join(",") }
        }
        "ExternalName" => service.text("/spec/externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// Addresses of the load balancer, sorted and without duplicates.
fn load_balancer(object: &Value) -> String {
    let addresses: BTreeSet<_> = object
        .list("/status/loadBalancer/ingress")
        .iter()
        .map(|ingress| ingress.text_or("/ip", ingress.text("/hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}

fn ports(service: &Value) -> String {
    let ports: Vec<_> = service
        .list("/spec/ports")
        .iter()
        .map(|port| match port.int("/nodePort") {
            0 => format!("{}/{}", port.int("/port"), port.text("/protocol")),
            node_port => format!("{}:{node_port}/{}", port.int("/port"), port.text("/protocol")),
        })
        .collect();
    if ports.is_empty() { NONE.to_owned() } else { ports.join(",") }
}

/// First three hosts; the number of omitted rules includes those without a host.
fn hosts(rules: &[Value]) -> String {
    const LIMIT: usize = 3;
    let hosts: Vec<_> = rules.iter().map(|rule| rule.text("/host")).filter(|host| !host.is_empty()).collect();
    let shown = &hosts[..hosts.len().min(LIMIT)];
    // Rules after the third host are skipped, with or without a host.
    let last_shown =
        rules.iter().rposition(|rule| shown.len() == LIMIT && rule.text("/host") == shown[LIMIT - 1]);
    match shown {
        [] => "*".to_owned(),
        shown if last_shown.is_some_and(|last| last + 1 < rules.len()) => {
            format!("{} + {} more...", shown.join(","), rules.len() - LIMIT)
        }
        shown => shown.join(","),
    }
}
