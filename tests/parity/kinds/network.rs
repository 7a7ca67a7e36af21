//! Network kinds.

use serde_json::{Value, json};

use crate::decisions::Decisions;

pub(super) fn service(decisions: &Decisions) -> Value {
    // Addresses are never given back by a change of this, so that it is decided once.
    let sort = decisions.firm().one("sort", &["headless", "plain", "plain", "balanced", "external"]);
    let kind = match sort {
        "external" => Value::from("ExternalName"),
        "balanced" => decisions.one("type", &["LoadBalancer", "NodePort"]).into(),
        _ => decisions.maybe("type", 40, |_| "ClusterIP".into()),
    };
    let is_external = sort == "external";
    json!({ "spec": {
        "type": kind,
        "clusterIP": if sort == "headless" { "None".into() } else { Value::Null },
        "externalName": if is_external { decisions.one("name", &["a.example.com", "b.example.com"]).into() } else { Value::Null },
        "selector": decisions.map("selector", 0, &["app", "tier"], &["web", "back"]),
        "ports": decisions.items("ports", usize::from(!is_external), &["80", "443", "53", "53/UDP"], port),
        "sessionAffinity": decisions.maybe("affinity", 30, |decisions| decisions.one("sort", &["ClientIP", "None"]).into()),
        "publishNotReadyAddresses": decisions.maybe("publish", 20, |decisions| decisions.chance("yes", 50).into()),
        "externalIPs": decisions.maybe("ips", 20, |decisions| json!(decisions.some("ip", 1, &["192.0.2.1", "192.0.2.2"]))),
        "loadBalancerSourceRanges": if sort == "balanced" && kind_is(&kind, "LoadBalancer") {
            decisions.maybe("ranges", 50, |decisions| json!(decisions.some("range", 1, &["10.0.0.0/8", "192.0.2.0/24"])))
        } else {
            Value::Null
        },
    } })
}

fn kind_is(kind: &Value, wanted: &str) -> bool {
    kind == wanted
}

/// Ports are merged by their number, although the number and the protocol make one.
fn port(port: &str, decisions: &Decisions) -> Value {
    let (number, protocol) = port.split_once('/').unwrap_or((port, "TCP"));
    let number: u16 = number.parse().unwrap();
    json!({
        "name": format!("p{number}-{}", protocol.to_lowercase()),
        "port": number,
        "protocol": if protocol == "UDP" || decisions.chance("protocol", 50) { protocol.into() } else { Value::Null },
        "targetPort": decisions.maybe("target", 60, |decisions| decisions.one("port", &[json!(8080), json!("web"), json!(9090)])),
        "appProtocol": decisions.maybe("app", 20, |decisions| decisions.one("name", &["http", "grpc"]).into()),
    })
}

pub(super) fn ingress(decisions: &Decisions) -> Value {
    json!({ "spec": {
        "ingressClassName": decisions.maybe("class", 50, |decisions| decisions.one("name", &["nginx", "other"]).into()),
        "defaultBackend": decisions.maybe("default", 40, backend),
        "tls": decisions.maybe("tls", 50, |decisions| decisions.items("secret", 1, &["one", "two"], |name, decisions| {
            json!({ "secretName": name, "hosts": decisions.some("hosts", 1, &["a.example.com", "b.example.com"]) })
        })),
        "rules": decisions.items("rules", 1, &["a.example.com", "b.example.com", "*.example.com"], |host, decisions| json!({
            "host": host,
            "http": { "paths": decisions.items("paths", 1, &["/", "/api", "/static"], |path, decisions| json!({
                "path": path,
                "pathType": decisions.one("type", &["Prefix", "Exact", "ImplementationSpecific"]),
                "backend": backend(decisions),
            })) },
        })),
    } })
}

fn backend(decisions: &Decisions) -> Value {
    let port = if decisions.chance("named", 40) { json!({ "name": "web" }) } else { json!({ "number": 80 }) };
    json!({ "service": { "name": decisions.one("service", &["web", "other"]), "port": port } })
}

pub(super) fn network_policy(decisions: &Decisions) -> Value {
    json!({ "spec": {
        "podSelector": { "matchLabels": decisions.map("selector", 0, &["app", "tier"], &["web", "back"]) },
        "policyTypes": decisions.some("types", 1, &["Ingress", "Egress"]),
        "ingress": decisions.maybe("ingress", 60, |decisions| json!([{
            "from": decisions.maybe("from", 70, |decisions| json!([{ "ipBlock": {
                "cidr": "10.0.0.0/8",
                "except": decisions.some("except", 0, &["10.1.0.0/16", "10.2.0.0/16"]),
            } }])),
            "ports": decisions.items("ports", 0, &["80", "443"], |port, _| json!({ "port": port.parse::<u16>().unwrap() })),
        }])),
    } })
}
