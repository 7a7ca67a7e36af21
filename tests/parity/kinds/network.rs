//! Network kinds.

use serde_json::{Value, json};

use crate::dice::Dice;

pub(super) fn service(dice: &Dice) -> Value {
    // Addresses are never given back by a change of this, so that it is decided once.
    let sort = dice.firm().one("sort", &["headless", "plain", "plain", "balanced", "external"]);
    let kind = match sort {
        "external" => Value::from("ExternalName"),
        "balanced" => dice.one("type", &["LoadBalancer", "NodePort"]).into(),
        _ => dice.maybe("type", 40, |_| "ClusterIP".into()),
    };
    let is_external = sort == "external";
    json!({ "spec": {
        "type": kind,
        "clusterIP": if sort == "headless" { "None".into() } else { Value::Null },
        "externalName": if is_external { dice.one("name", &["a.example.com", "b.example.com"]).into() } else { Value::Null },
        "selector": dice.map("selector", 0, &["app", "tier"], &["web", "back"]),
        "ports": dice.items("ports", usize::from(!is_external), &["80", "443", "53", "53/UDP"], port),
        "sessionAffinity": dice.maybe("affinity", 30, |dice| dice.one("sort", &["ClientIP", "None"]).into()),
        "publishNotReadyAddresses": dice.maybe("publish", 20, |dice| dice.chance("yes", 50).into()),
        "externalIPs": dice.maybe("ips", 20, |dice| json!(dice.some("ip", 1, &["192.0.2.1", "192.0.2.2"]))),
        "loadBalancerSourceRanges": if sort == "balanced" && kind_is(&kind, "LoadBalancer") {
            dice.maybe("ranges", 50, |dice| json!(dice.some("range", 1, &["10.0.0.0/8", "192.0.2.0/24"])))
        } else {
            Value::Null
        },
    } })
}

fn kind_is(kind: &Value, wanted: &str) -> bool {
    kind == wanted
}

/// Ports are merged by their number, although the number and the protocol make one.
fn port(port: &str, dice: &Dice) -> Value {
    let (number, protocol) = port.split_once('/').unwrap_or((port, "TCP"));
    let number: u16 = number.parse().unwrap();
    json!({
        "name": format!("p{number}-{}", protocol.to_lowercase()),
        "port": number,
        "protocol": if protocol == "UDP" || dice.chance("protocol", 50) { protocol.into() } else { Value::Null },
        "targetPort": dice.maybe("target", 60, |dice| dice.one("port", &[json!(8080), json!("web"), json!(9090)])),
        "appProtocol": dice.maybe("app", 20, |dice| dice.one("name", &["http", "grpc"]).into()),
    })
}

pub(super) fn ingress(dice: &Dice) -> Value {
    json!({ "spec": {
        "ingressClassName": dice.maybe("class", 50, |dice| dice.one("name", &["nginx", "other"]).into()),
        "defaultBackend": dice.maybe("default", 40, backend),
        "tls": dice.maybe("tls", 50, |dice| dice.items("secret", 1, &["one", "two"], |name, dice| {
            json!({ "secretName": name, "hosts": dice.some("hosts", 1, &["a.example.com", "b.example.com"]) })
        })),
        "rules": dice.items("rules", 1, &["a.example.com", "b.example.com", "*.example.com"], |host, dice| json!({
            "host": host,
            "http": { "paths": dice.items("paths", 1, &["/", "/api", "/static"], |path, dice| json!({
                "path": path,
                "pathType": dice.one("type", &["Prefix", "Exact", "ImplementationSpecific"]),
                "backend": backend(dice),
            })) },
        })),
    } })
}

fn backend(dice: &Dice) -> Value {
    let port = if dice.chance("named", 40) { json!({ "name": "web" }) } else { json!({ "number": 80 }) };
    json!({ "service": { "name": dice.one("service", &["web", "other"]), "port": port } })
}

pub(super) fn network_policy(dice: &Dice) -> Value {
    json!({ "spec": {
        "podSelector": { "matchLabels": dice.map("selector", 0, &["app", "tier"], &["web", "back"]) },
        "policyTypes": dice.some("types", 1, &["Ingress", "Egress"]),
        "ingress": dice.maybe("ingress", 60, |dice| json!([{
            "from": dice.maybe("from", 70, |dice| json!([{ "ipBlock": {
                "cidr": "10.0.0.0/8",
                "except": dice.some("except", 0, &["10.1.0.0/16", "10.2.0.0/16"]),
            } }])),
            "ports": dice.items("ports", 0, &["80", "443"], |port, _| json!({ "port": port.parse::<u16>().unwrap() })),
        }])),
    } })
}
