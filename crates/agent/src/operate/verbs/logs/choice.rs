//! Choice of the pod and the container, if they are not named: kubectl's rules.

use serde_json::Value;
use spindrift_model::{ErrorKind, OperationError};

const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

pub(super) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// Container that the pod's annotation names, if it exists; else the first.
pub(super) fn container(pod: &Value) -> Result<String, OperationError> {
    let annotated = pod.pointer("/metadata/annotations").and_then(|all| all.get(DEFAULT_CONTAINER)?.as_str());
    let names = |field| {
        let list = pod.pointer(&format!("/spec/{field}")).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|container| container["name"].as_str())
    };
    let is_there = |wanted: &&str| {
        ["containers", "initContainers", "ephemeralContainers"]
            .into_iter()
            .flat_map(names)
            .any(|name| name == *wanted)
    };
    let chosen = annotated.filter(is_there).or_else(|| names("containers").next());
    let message = || format!("pod {} has no containers", name(pod));
    chosen.map(str::to_owned).ok_or_else(|| OperationError::agent(ErrorKind::BadRequest, message()))
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_container_is_the_annotated_one_else_the_first() {
        let pod = |annotated: &str| {
            json!({
                "metadata": { "name": "p", "annotations": { DEFAULT_CONTAINER: annotated } },
                "spec": { "containers": [{ "name": "a" }, { "name": "b" }], "initContainers": [{ "name": "i" }] },
            })
        };
        assert_eq!(container(&pod("b")).unwrap(), "b");
        assert_eq!(container(&pod("i")).unwrap(), "i");
        assert_eq!(container(&pod("none")).unwrap(), "a");
        assert!(container(&json!({})).is_err());
    }
}
