//! Objects for facts, and accessors.

use serde_json::{Value, json};

pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

pub(crate) fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "image": "main:1"}]},
    })
}

/// Also a valid body of ReplicaSets and StatefulSets.
pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "main", "image": "main:1", "env": [{"name": "A", "value": "1"}],
                }]},
            },
        },
    })
}

/// The object with another value at a JSON pointer; missing parents are created.
pub(crate) fn with(mut object: Value, pointer: &str, value: impl Into<Value>) -> Value {
    let mut place = &mut object;
    for key in pointer.trim_start_matches('/').split('/') {
        place = match key.parse::<usize>() {
            Ok(index) => &mut place[index],
            Err(_) => &mut place[key],
        };
    }
    *place = value.into();
    object
}

/// Names in a list, in its order.
pub(crate) fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

pub(crate) fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap()
}

/// Clients may compare resource versions as numbers since Kubernetes 1.35.
pub(crate) fn version_number(object: &Value) -> u64 {
    version(object).parse().unwrap()
}
