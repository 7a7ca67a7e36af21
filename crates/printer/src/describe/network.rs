//! Services and ingresses.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Page, RelatedObjects, or};
use crate::{
    format_labels,
    look::{Look, entry},
};

/// Label of an endpoint slice with the name of its service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Endpoints that are listed by address.
const MAX_ENDPOINTS: usize = 3;

pub(super) fn service(service: &Value, related: &RelatedObjects, page: &mut Page) {
    page.metadata(service);
    page.field(0, "Selector", format_labels(service.at("/spec/selector")));
    page.field(0, "Type", service.text("/spec/type"));
    let texts =
        |pointer| service.list(pointer).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",");
    if service.has("/spec/ipFamilyPolicy") {
        page.field(0, "IP Family Policy", service.text("/spec/ipFamilyPolicy"));
    }
    page.field(0, "IP Families", or(&texts("/spec/ipFamilies"), "<none>"));
    page.field(0, "IP", service.text("/spec/clusterIP"));
    page.field(0, "IPs", or(&texts("/spec/clusterIPs"), "<none>"));
    let ingress = |one: &Value| match (one.text("/ip"), one.text("/ipMode")) {
        ("", _) => one.text("/hostname").to_owned(),
        (ip, "") => ip.to_owned(),
        (ip, mode) => format!("{ip} ({mode})"),
    };
    let ingress: Vec<_> = service.list("/status/loadBalancer/ingress").iter().map(ingress).collect();
    for (name, value) in [
        ("External IPs", texts("/spec/externalIPs")),
        ("Desired LoadBalancer IP", service.text("/spec/loadBalancerIP").to_owned()),
        ("External Name", service.text("/spec/externalName").to_owned()),
        ("LoadBalancer Ingress", ingress.join(", ")),
    ] {
        if !value.is_empty() {
            page.field(0, name, value);
        }
    }
    for port in service.list("/spec/ports") {
        let (name, protocol) = (or(port.text("/name"), "<unset>"), port.text("/protocol"));
        page.field(0, "Port", format!("{name}\t{}/{protocol}", port.int("/port")));
        let target = port.scalar("/targetPort").unwrap_or_else(|| "0".to_owned());
        page.field(0, "TargetPort", format!("{target}/{protocol}"));
        if port.has("/appProtocol") {
            page.field(0, "AppProtocol", port.text("/appProtocol"));
        }
        if port.int("/nodePort") != 0 {
            page.field(0, "NodePort", format!("{name}\t{}/{protocol}", port.int("/nodePort")));
        }
        let endpoints = endpoints(related, service.text("/metadata/name"), port.text("/name"));
        page.field(0, "Endpoints", endpoints);
    }
    page.field(0, "Session Affinity", service.text("/spec/sessionAffinity"));
    for (name, value) in [
        ("External Traffic Policy", service.text("/spec/externalTrafficPolicy").to_owned()),
        ("Internal Traffic Policy", service.text("/spec/internalTrafficPolicy").to_owned()),
        ("HealthCheck NodePort", service.scalar("/spec/healthCheckNodePort").unwrap_or_default()),
        ("LoadBalancer Source Ranges", texts("/spec/loadBalancerSourceRanges")),
        ("Traffic Distribution", service.text("/spec/trafficDistribution").to_owned()),
    ] {
        if !value.is_empty() {
            page.field(0, name, value);
        }
    }
}

/// Addresses of the ready endpoints of a port of a service.
fn endpoints(related: &RelatedObjects, service: &str, port_name: &str) -> String {
    if !related.has("EndpointSlice") {
        return "<unknown> (endpoint slices are not cached)".to_owned();
    }
    let is_own = |slice: &&Value| entry(slice, "/metadata/labels", SERVICE_NAME) == Some(service);
    let slices: Vec<_> = related.all("EndpointSlice").filter(is_own).collect();
    if slices.is_empty() {
        return "<none>".to_owned();
    }
    let mut addresses = Vec::new();
    for slice in slices {
        let is_ready = |endpoint: &&Value| endpoint.at("/conditions/ready").as_bool() != Some(false);
        let ready: Vec<_> = slice.list("/endpoints").iter().filter(is_ready).collect();
        let address = |endpoint: &Value| endpoint.text("/addresses/0").to_owned();
        if slice.list("/ports").is_empty() {
            addresses.extend(ready.iter().map(|endpoint| address(endpoint)));
        }
        for port in slice.list("/ports").iter().filter(|port| port.text("/name") == port_name) {
            let with_port = |endpoint: &&Value| match address(endpoint) {
                ip if ip.contains(':') => format!("[{ip}]:{}", port.int("/port")),
                ip => format!("{ip}:{}", port.int("/port")),
            };
            addresses.extend(ready.iter().map(with_port));
        }
    }
    let more = addresses.len().saturating_sub(MAX_ENDPOINTS);
    addresses.truncate(MAX_ENDPOINTS);
    let list = addresses.join(",");
    if more > 0 { format!("{list} + {more} more...") } else { list }
}

pub(super) fn ingress(ingress: &Value, related: &RelatedObjects, page: &mut Page) {
    page.labels("Labels", "", ingress.at("/metadata/labels"));
    page.field(0, "Namespace", ingress.text("/metadata/namespace"));
    let addresses = ingress.list("/status/loadBalancer/ingress").iter();
    let addresses: BTreeSet<_> = addresses
        .map(|one| or(one.text("/ip"), one.text("/hostname")))
        .filter(|one| !one.is_empty())
        .collect();
    page.field(0, "Address", addresses.into_iter().collect::<Vec<_>>().join(","));
    page.field(0, "Ingress Class", or(ingress.text("/spec/ingressClassName"), "<none>"));
    let default = match ingress.at("/spec/defaultBackend") {
        Value::Null => "<default>".to_owned(),
        default => backend(default, related),
    };
    page.field(0, "Default backend", &default);
    if ingress.has("/spec/tls") {
        page.line(0, "TLS:");
    }
    for tls in ingress.list("/spec/tls") {
        let hosts: Vec<_> = tls.list("/hosts").iter().filter_map(Value::as_str).collect();
        let hosts = hosts.join(",");
        match tls.text("/secretName") {
            "" => page.line(1, format!("SNI routes {hosts}")),
            secret => page.line(1, format!("{secret} terminates {hosts}")),
        }
    }
    page.line(0, "Rules:\n  Host\tPath\tBackends");
    page.line(1, "----\t----\t--------");
    let rules: Vec<_> = ingress.list("/spec/rules").iter().filter(|rule| rule.has("/http")).collect();
    if rules.is_empty() {
        page.line(1, format!("*\t*\t{default}"));
    }
    for rule in rules {
        page.line(1, format!("{}\t", or(rule.text("/host"), "*")));
        for path in rule.list("/http/paths") {
            let backend = backend(path.at("/backend"), related);
            page.line(2, format!("\t{} \t{backend}", path.text("/path")));
        }
    }
    page.annotations("Annotations", ingress.at("/metadata/annotations"));
}

fn backend(backend: &Value, related: &RelatedObjects) -> String {
    if backend.has("/resource") {
        return format!(
            "APIGroup: {}, Kind: {}, Name: {}",
            backend.text_or("/resource/apiGroup", "<none>"),
            backend.text("/resource/kind"),
            backend.text("/resource/name")
        );
    }
    let name = backend.text("/service/name");
    let number = backend.int("/service/port/number");
    let port_name = backend.text("/service/port/name");
    let port = if number != 0 { number.to_string() } else { port_name.to_owned() };
    if !related.has("Service") {
        return format!("{name}:{port}");
    }
    let Some(service) = related.all("Service").find(|service| service.text("/metadata/name") == name) else {
        return format!("{name}:{port} (<error: services {name:?} not found>)");
    };
    let is_meant = |port: &&Value| {
        (number != 0 && port.int("/port") == number)
            || (number == 0 && !port_name.is_empty() && port.text("/name") == port_name)
    };
    let found = service.list("/spec/ports").iter().find(is_meant);
    let endpoints = endpoints(related, name, found.map(|port| port.text("/name")).unwrap_or_default());
    format!("{name}:{port} ({endpoints})")
}
