//! Endpoints and EndpointSlices: addresses of the pods behind a Service.

use serde_json::{Value, json};

use super::{
    fields::{self, is_deleted, is_ready, list, matches, name, namespace, text, uid},
    reconcile::{Kind, ObjectWrite, Plan, owner},
};

/// Pod behind a service, as both kinds describe it.
struct Backend<'a> {
    pod: &'a Value,
    address: &'a str,
    ready: bool,
}

/// Updates both objects. `pods` are those of the service's namespace; `known` and `slice` are the existing objects.
pub(super) fn decide(
    service: &Value,
    pods: &[Value],
    endpoints: Option<&Value>,
    slice: Option<&Value>,
) -> Plan {
    let mut plan = Plan::default();
    let selector = &service["spec"]["selector"];
    if is_deleted(service) || selector.as_object().is_none_or(serde_json::Map::is_empty) {
        return plan;
    }
    let mut backends: Vec<_> = pods
        .iter()
        .filter(|pod| matches(selector, &pod["metadata"]["labels"]) && !is_deleted(pod))
        .map(|pod| Backend { pod, address: text(pod, "/status/podIP"), ready: is_ready(pod) })
        .filter(|backend| !backend.address.is_empty() && text(backend.pod, "/status/phase") == "Running")
        .collect();
    backends.sort_by_key(|backend| backend.address);
    let ports = ports(service, &backends);
    let wanted = [
        (Kind::Endpoints, endpoints_of(service, &backends, &ports), endpoints),
        (Kind::EndpointSlice, slice_of(service, &backends, &ports), slice),
    ];
    for (kind, wanted, known) in wanted {
        match known {
            None => plan.write(ObjectWrite::Create(kind, wanted)),
            Some(known) => update(&mut plan, kind, &wanted, known),
        }
    }
    plan
}

/// Writes an object if a part that this controller owns differs.
fn update(plan: &mut Plan, kind: Kind, wanted: &Value, known: &Value) {
    let mut next = known.clone();
    for field in ["subsets", "endpoints", "ports", "addressType"] {
        match wanted.get(field) {
            Some(value) => fields::set(&mut next, &[field], value.clone()),
            None => {
                if let Some(map) = next.as_object_mut() {
                    map.remove(field);
                }
            }
        }
    }
    if next != *known {
        plan.write(ObjectWrite::Update(kind, next));
    }
}

/// Target ports as numbers, also where the service uses a name.
fn ports(service: &Value, backends: &[Backend<'_>]) -> Vec<Value> {
    let port = |port: &Value| {
        let target = match &port["targetPort"] {
            Value::Number(number) => number.as_i64(),
            Value::String(named) => backends.iter().find_map(|backend| named_port(backend.pod, named)),
            _ => port["port"].as_i64(),
        };
        let protocol = Some(text(port, "/protocol")).filter(|it| !it.is_empty()).unwrap_or("TCP");
        let mut result = json!({ "port": target?, "protocol": protocol });
        if let Some(named) = port.get("name") {
            fields::set(&mut result, &["name"], named.clone());
        }
        Some(result)
    };
    list(service, "/spec/ports").iter().filter_map(port).collect()
}

fn named_port(pod: &Value, wanted: &str) -> Option<i64> {
    let containers = list(pod, "/spec/containers").iter();
    let mut ports = containers.flat_map(|container| list(container, "/ports"));
    ports.find(|port| text(port, "/name") == wanted)?.get("containerPort")?.as_i64()
}

fn endpoints_of(service: &Value, backends: &[Backend<'_>], ports: &[Value]) -> Value {
    let addresses = |ready: bool| -> Vec<Value> {
        let of = backends.iter().filter(|backend| backend.ready == ready);
        of.map(|backend| {
            json!({ "ip": backend.address, "nodeName": backend.pod["spec"]["nodeName"], "targetRef": target(backend.pod) })
        })
        .collect()
    };
    let mut endpoints = json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": name(service),
            "namespace": namespace(service),
            "labels": { "endpoints.kubernetes.io/managed-by": "endpoint-controller" },
            "ownerReferences": owner(Kind::Service, service),
        },
    });
    if !backends.is_empty() {
        let mut subset = json!({ "ports": ports });
        for (field, addresses) in [("addresses", addresses(true)), ("notReadyAddresses", addresses(false))] {
            if !addresses.is_empty() {
                fields::set(&mut subset, &[field], addresses);
            }
        }
        fields::set(&mut endpoints, &["subsets"], vec![subset]);
    }
    endpoints
}

fn slice_of(service: &Value, backends: &[Backend<'_>], ports: &[Value]) -> Value {
    let endpoint = |backend: &Backend<'_>| {
        json!({
            "addresses": [backend.address],
            "conditions": { "ready": backend.ready, "serving": backend.ready, "terminating": false },
            "nodeName": backend.pod["spec"]["nodeName"],
            "targetRef": target(backend.pod),
        })
    };
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": slice_name(service),
            "namespace": namespace(service),
            "labels": {
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
                "kubernetes.io/service-name": name(service),
            },
            "ownerReferences": owner(Kind::Service, service),
        },
        "addressType": "IPv4",
        "endpoints": backends.iter().map(endpoint).collect::<Vec<_>>(),
        "ports": ports,
    })
}

/// Name of the service's only slice; derived, so that it can be read without a list.
pub(super) fn slice_name(service: &Value) -> String {
    let uid: String = uid(service).chars().filter(char::is_ascii_alphanumeric).take(5).collect();
    format!("{}-{uid}", name(service))
}

fn target(pod: &Value) -> Value {
    json!({ "kind": "Pod", "namespace": namespace(pod), "name": name(pod), "uid": uid(pod) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_pods_and_others_are_told_apart_and_named_ports_are_found() {
        let service = json!({
            "metadata": { "name": "web", "namespace": "shop", "uid": "1a2b3-c" },
            "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": "http" }] },
        });
        let pod = |name: &str, app: &str, address: &str, ready: &str| {
            json!({
                "metadata": { "name": name, "namespace": "shop", "labels": { "app": app } },
                "spec": { "containers": [{ "ports": [{ "name": "http", "containerPort": 8080 }] }] },
                "status": { "phase": "Running", "podIP": address, "conditions": [{ "type": "Ready", "status": ready }] },
            })
        };
        let pods = [
            pod("a", "web", "10.0.0.2", "True"),
            pod("b", "web", "10.0.0.1", "False"),
            pod("c", "db", "10.0.0.3", "True"),
        ];
        let plan = decide(&service, &pods, None, None);
        let [
            ObjectWrite::Create(Kind::Endpoints, endpoints),
            ObjectWrite::Create(Kind::EndpointSlice, slice),
        ] = plan.writes.as_slice()
        else {
            panic!("{plan:?}")
        };
        assert_eq!(text(endpoints, "/subsets/0/addresses/0/ip"), "10.0.0.2");
        assert_eq!(text(endpoints, "/subsets/0/notReadyAddresses/0/ip"), "10.0.0.1");
        assert_eq!(endpoints["subsets"][0]["ports"][0]["port"], 8080);
        assert_eq!((list(slice, "/endpoints").len(), name(slice)), (2, "web-1a2b3"));
        let again = decide(&service, &pods, Some(endpoints), Some(slice));
        assert!(again.writes.is_empty(), "nothing changed, so nothing is written: {again:?}");
    }
}
