//! Defaults of pod specifications, in pods and in templates, and the QoS class of a pod.

use serde_json::{Map, Value, json};

use crate::object::{default as set, fields, list, text};

/// Sets the defaults of a pod specification.
pub(super) fn default_pod_spec(spec: &mut Map<String, Value>) {
    set(spec, "restartPolicy", "Always");
    set(spec, "terminationGracePeriodSeconds", 30);
    set(spec, "dnsPolicy", "ClusterFirst");
    set(spec, "securityContext", json!({}));
    set(spec, "schedulerName", "default-scheduler");
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        set(spec, "serviceAccount", account);
    }
    for key in ["containers", "initContainers"] {
        if let Some(Value::Array(containers)) = spec.get_mut(key) {
            containers.iter_mut().for_each(container);
        }
    }
    if let Some(Value::Array(volumes)) = spec.get_mut("volumes") {
        volumes.iter_mut().for_each(volume);
    }
}

fn container(container: &mut Value) {
    let image = text(container, "/image").to_owned();
    let fields = fields(container);
    set(fields, "terminationMessagePath", "/dev/termination-log");
    set(fields, "terminationMessagePolicy", "File");
    let tag = image.rsplit('/').next().unwrap_or_default();
    let floats = !image.contains('@') && (!tag.contains(':') || tag.ends_with(":latest"));
    set(fields, "imagePullPolicy", if floats { "Always" } else { "IfNotPresent" });
    let resources = crate::object::fields(fields.entry("resources").or_insert(Value::Null));
    // A limit without a request becomes the request.
    if let Some(Value::Object(limits)) = resources.get("limits").cloned() {
        let requests = crate::object::fields(resources.entry("requests").or_insert(Value::Null));
        for (name, amount) in limits {
            set(requests, &name, amount);
        }
    }
    if let Some(Value::Array(ports)) = fields.get_mut("ports") {
        for port in ports {
            set(crate::object::fields(port), "protocol", "TCP");
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(value) = fields.get_mut(name) {
            probe(value);
        }
    }
    if let Some(Value::Array(variables)) = fields.get_mut("env") {
        for variable in variables {
            if let Some(field) = variable.pointer_mut("/valueFrom/fieldRef") {
                set(crate::object::fields(field), "apiVersion", "v1");
            }
        }
    }
}

fn probe(probe: &mut Value) {
    let fields = fields(probe);
    for (name, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        set(fields, name, value);
    }
    if let Some(get) = fields.get_mut("httpGet") {
        set(crate::object::fields(get), "path", "/");
        set(crate::object::fields(get), "scheme", "HTTP");
    }
}

fn volume(volume: &mut Value) {
    let fields = fields(volume);
    for name in ["configMap", "secret", "projected", "downwardAPI"] {
        if let Some(source) = fields.get_mut(name) {
            set(crate::object::fields(source), "defaultMode", 420);
        }
    }
    if let Some(path) = fields.get_mut("hostPath") {
        set(crate::object::fields(path), "type", "");
    }
}

/// QoS class of a pod, from the requests and limits of its containers.
pub(super) fn quality(spec: &Map<String, Value>) -> &'static str {
    let containers = spec.get("containers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let inits = spec.get("initContainers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let all: Vec<&Value> = containers.iter().chain(inits).collect();
    let mentions = |container: &&&Value, part: &str| {
        ["cpu", "memory"].iter().any(|name| container.pointer(&format!("/resources/{part}/{name}")).is_some())
    };
    if !all.iter().any(|container| mentions(&container, "requests") || mentions(&container, "limits")) {
        return "BestEffort";
    }
    let fixed = |container: &&Value| {
        ["cpu", "memory"].iter().all(|name| {
            let limit = container.pointer(&format!("/resources/limits/{name}"));
            limit.is_some() && limit == container.pointer(&format!("/resources/requests/{name}"))
        })
    };
    if all.iter().all(fixed) { "Guaranteed" } else { "Burstable" }
}

/// Names of the containers of a pod, quoted as in the server's error messages.
pub(crate) fn container_names(pod: &Value, part: &str) -> Vec<String> {
    list(pod, &format!("/spec/{part}")).iter().map(|container| text(container, "/name").to_owned()).collect()
}
