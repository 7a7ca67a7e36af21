//! Defaults for API servers before 1.22, which compare the elements of lists before they fill in defaults.

use serde_json::Value;
use spindrift_kubernetes::Object;

/// Fills in the protocol of every port, which is part of its merge key.
pub(super) fn fill_in(manifest: &mut Object) {
    if manifest.get("kind").is_some_and(|kind| kind == "Service") {
        manifest.get_mut("spec").and_then(|spec| spec.get_mut("ports")).into_iter().for_each(name_protocols);
        return;
    }
    manifest.values_mut().for_each(visit_containers);
}

fn visit_containers(value: &mut Value) {
    let Value::Object(map) = value else { return };
    for (name, value) in map {
        match (name.as_str(), value) {
            ("containers" | "initContainers", Value::Array(containers)) => {
                containers
                    .iter_mut()
                    .filter_map(|container| container.get_mut("ports"))
                    .for_each(name_protocols);
            }
            (_, value) => visit_containers(value),
        }
    }
}

fn name_protocols(ports: &mut Value) {
    for port in ports.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        port.entry("protocol").or_insert_with(|| "TCP".into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled_in(mut manifest: Value) -> Value {
        fill_in(manifest.as_object_mut().expect("a manifest"));
        manifest
    }

    #[test]
    fn ports_get_the_protocol_that_they_have() {
        let pod = |port: Value| {
            let containers = json!([{ "name": "a", "ports": [port] }, { "name": "b" }]);
            json!({ "kind": "CronJob", "spec": { "jobTemplate": { "spec": { "template": { "spec": { "containers": containers } } } } } })
        };
        assert_eq!(
            filled_in(pod(json!({ "containerPort": 1 }))),
            pod(json!({ "containerPort": 1, "protocol": "TCP" }))
        );
        let udp = || pod(json!({ "containerPort": 1, "protocol": "UDP" }));
        assert_eq!(filled_in(udp()), udp());
        let service = filled_in(json!({ "kind": "Service", "spec": { "ports": [{ "port": 1 }] } }));
        assert_eq!(service["spec"]["ports"], json!([{ "port": 1, "protocol": "TCP" }]));
        let custom = || json!({ "kind": "Custom", "spec": { "ports": [{ "port": 1 }] } });
        assert_eq!(filled_in(custom()), custom());
    }
}
