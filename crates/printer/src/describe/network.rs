//! Services and ingresses.

use serde_json::Value;

use super::{Page, metadata, or, shown};
use crate::{format_labels, look::Look};

pub(super) fn service(service: &Value, page: &mut Page) {
    metadata(service, page);
    page.field("Selector", format_labels(service.at("/spec/selector")));
    page.field("Type", service.text("/spec/type"));
    let texts =
        |pointer| service.list(pointer).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",");
    if service.text("/spec/type") == "ExternalName" {
        page.field("External Name", service.text("/spec/externalName"));
    } else {
        page.field("IP Family Policy", service.text("/spec/ipFamilyPolicy"));
        page.field("IP Families", texts("/spec/ipFamilies"));
        page.field("IPs", or(&texts("/spec/clusterIPs"), "<none>"));
    }
    if service.has("/spec/externalIPs") {
        page.field("External IPs", texts("/spec/externalIPs"));
    }
    let ingress = service.list("/status/loadBalancer/ingress").iter();
    let ingress: Vec<_> = ingress.map(|one| or(one.text("/ip"), one.text("/hostname"))).collect();
    if !ingress.is_empty() {
        page.field("LoadBalancer Ingress", ingress.join(", "));
    }
    let port = |port: &Value| {
        let protocol = port.text("/protocol");
        let target = port.scalar("/targetPort").unwrap_or_default();
        let node_port = port.scalar("/nodePort").unwrap_or_else(|| "-".to_owned());
        let cells = [
            or(port.text("/name"), "<unset>"),
            &format!("{}/{protocol}", port.int("/port")),
            &target,
            &node_port,
        ];
        cells.map(str::to_owned).to_vec()
    };
    let ports = service.list("/spec/ports");
    if !ports.is_empty() {
        page.table("Ports", &["Name", "Port", "TargetPort", "NodePort"], ports.iter().map(port).collect());
    }
    page.field("Session Affinity", service.text("/spec/sessionAffinity"));
    for (name, pointer) in [
        ("External Traffic Policy", "/spec/externalTrafficPolicy"),
        ("Internal Traffic Policy", "/spec/internalTrafficPolicy"),
    ] {
        if service.has(pointer) {
            page.field(name, service.text(pointer));
        }
    }
}

pub(super) fn ingress(ingress: &Value, page: &mut Page) {
    metadata(ingress, page);
    let addresses = ingress.list("/status/loadBalancer/ingress").iter();
    let addresses: Vec<_> = addresses.map(|one| or(one.text("/ip"), one.text("/hostname"))).collect();
    page.field("Address", addresses.join(","));
    page.field("Ingress Class", or(ingress.text("/spec/ingressClassName"), "<none>"));
    let default = ingress.at("/spec/defaultBackend");
    page.field("Default backend", if default.is_null() { "<default>".to_owned() } else { backend(default) });
    let tls = |tls: &Value| {
        let hosts: Vec<_> = tls.list("/hosts").iter().filter_map(Value::as_str).collect();
        format!("{} terminates {}", or(tls.text("/secretName"), "SNI routes"), hosts.join(","))
    };
    if ingress.has("/spec/tls") {
        page.values("TLS", ingress.list("/spec/tls").iter().map(tls).collect());
    }
    let mut rows = Vec::new();
    for rule in ingress.list("/spec/rules") {
        for path in rule.list("/http/paths") {
            let cells =
                [or(rule.text("/host"), "*"), or(path.text("/path"), "/"), &backend(path.at("/backend"))];
            rows.push(cells.map(str::to_owned).to_vec());
        }
    }
    page.table("Rules", &["Host", "Path", "Backend"], rows);
}

fn backend(backend: &Value) -> String {
    if backend.has("/resource") {
        return format!("{}/{}", backend.text("/resource/kind"), backend.text("/resource/name"));
    }
    let number = shown(backend, "/service/port/number");
    let port = or(backend.text("/service/port/name"), &number);
    format!("{}:{port}", backend.text("/service/name"))
}
