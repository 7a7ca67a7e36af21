//! Strategic merge patches, with the errors of the real server.

use serde_json::Value;
use spindrift_kubernetes::{MergeError, Object, PatchPart, Schema, Shape, apply_strategic};

use crate::status::Status;

/// Applies a patch by the merge keys that Kubernetes declares for the kind of the object.
pub(super) fn apply(object: Object, patch: Object) -> Result<Object, Status> {
    let field = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let shape = Schema::builtin().shape(field("apiVersion"), field("kind")).unwrap_or(Shape::UNKNOWN);
    apply_strategic(object, patch, shape).map_err(refused)
}

/// Words an error as the real server does.
fn refused(error: MergeError) -> Status {
    let (code, reason, message) = match error {
        MergeError::NoMergeKey { key, element: PatchPart(element) } => {
            (500, "", format!("map: {} does not contain declared merge key: {key}", go(&element)))
        }
        MergeError::BadDirective { map: Some(PatchPart(map)), .. } => {
            let found = map.get("$patch").map(go).unwrap_or_default();
            (500, "", format!("unknown patch type: {found} in map: {}", go(&map)))
        }
        MergeError::BadDirective { directive, .. } => {
            let list = match directive.split('/').next().unwrap_or_default() {
                "$retainKeys" => "retainKeys",
                "$setElementOrder" => "setElementOrder list",
                _ => "primitive list",
            };
            (400, "BadRequest", format!("invalid patch format of {list}"))
        }
        MergeError::ListOfLists => (422, "Invalid", "lists of lists are not supported".to_owned()),
        error => (500, "", error.to_string()),
    };
    Status::new(code, reason, message)
}

/// A value as Go prints it, for the words of the real server.
fn go(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key}:{}", go(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(go).collect::<Vec<_>>().join(" ")),
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(object: Value, patch: &Value) -> Value {
        patched_as("apps/v1", "Deployment", object, patch)
    }

    fn patched_as(api_version: &str, kind: &str, mut object: Value, patch: &Value) -> Value {
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        let (Value::Object(object), Value::Object(patch)) = (object, patch.clone()) else {
            panic!("two objects")
        };
        let mut patched = apply(object, patch).unwrap();
        patched.retain(|key, _| key != "apiVersion" && key != "kind");
        patched.into()
    }

    fn pod(containers: impl Into<Value>) -> Value {
        let containers = containers.into();
        json!({"spec": {"template": {"spec": {"containers": containers}}}})
    }

    #[test]
    fn containers_are_merged_by_name() {
        let before =
            pod(json!([{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b"}]));
        let patch = pod(json!([
            {"name": "a", "image": "2", "env": [{"name": "Y", "value": "2"}]},
            {"name": "b", "$patch": "delete"},
            {"name": "c"},
        ]));
        let env = json!([{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]);
        let after = pod(json!([{"name": "a", "image": "2", "env": env}, {"name": "c"}]));
        assert_eq!(patched(before, &patch), after);
    }

    #[test]
    fn ports_of_containers_and_services_have_different_keys() {
        let before = pod(json!([{"name": "a", "ports": [{"containerPort": 80, "name": "x"}]}]));
        let patch = pod(json!([{"name": "a", "ports": [{"containerPort": 81}]}]));
        let after =
            pod(json!([{"name": "a", "ports": [{"containerPort": 81}, {"containerPort": 80, "name": "x"}]}]));
        assert_eq!(patched(before, &patch), after);
        let before = json!({"spec": {"ports": [{"port": 80, "targetPort": 1}]}});
        let after = json!({"spec": {"ports": [{"port": 80, "targetPort": 2}]}});
        assert_eq!(patched_as("v1", "Service", before, &after), after);
    }

    #[test]
    fn lists_without_keys_are_replaced() {
        let before = json!({"args": ["a", "b"], "metadata": {"finalizers": ["a"]}});
        let patch = json!({"args": ["c"], "metadata": {"finalizers": ["b"], "$deleteFromPrimitiveList/finalizers": ["a"]}});
        assert_eq!(patched(before, &patch), json!({"args": ["c"], "metadata": {"finalizers": ["b"]}}));
    }

    #[test]
    fn order_and_replace_directives_are_followed() {
        let before = pod(json!([{"name": "a"}, {"name": "b"}]));
        let patch = json!({"spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}],
            "containers": [{"name": "c"}],
        }}}});
        assert_eq!(patched(before, &patch), pod(json!([{"name": "c"}, {"name": "b"}, {"name": "a"}])));
        let before = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}});
        let patch = json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}});
        assert_eq!(patched(before, &patch), json!({"strategy": {"type": "Recreate"}}));
        let patch = json!({"metadata": {"labels": {"$patch": "replace", "b": "2"}}});
        let before = json!({"metadata": {"labels": {"a": "1"}}});
        assert_eq!(patched(before, &patch), json!({"metadata": {"labels": {"b": "2"}}}));
    }
}
