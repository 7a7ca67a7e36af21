//! Parsing of a request's `manifests`: lists are expanded, nulls are dropped, and a namespace may override theirs.

use serde_json::Value;

use super::Manifest;
use crate::{Kind, KindRules};

/// Error for an invalid manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidManifest {
    #[error("a manifest must be an object")]
    NotAnObject,
    #[error("a manifest must have a kind")]
    NoKind,
}

/// Manifests of a request: nulls are dropped, and a `List` is replaced by its items.
pub fn expand(manifests: Vec<Value>) -> Result<Vec<Manifest>, InvalidManifest> {
    let mut expanded = Vec::with_capacity(manifests.len());
    for manifest in manifests {
        match manifest {
            Value::Null => {}
            mut list if is_list(&list) => {
                let items = list.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take);
                for item in items.into_iter().flatten().filter(|item| !item.is_null()) {
                    expanded.push(item.try_into()?);
                }
            }
            manifest => expanded.push(manifest.try_into()?),
        }
    }
    Ok(expanded)
}

/// Sets the namespace of namespaced manifests; `is_namespaced` decides for kinds without rules.
pub fn override_namespace(
    manifests: &mut [Manifest],
    namespace: &str,
    rules: &KindRules,
    is_namespaced: impl Fn(&Kind) -> Option<bool>,
) {
    if namespace.trim().is_empty() {
        return;
    }
    for manifest in manifests {
        let kind = manifest.kind();
        if rules.is_namespaced(kind).or_else(|| is_namespaced(kind)).unwrap_or(true) {
            manifest.set_namespace(namespace);
        }
    }
}

/// Whether it is a `List`; a `ConfigMapList` is not expanded.
fn is_list(manifest: &Value) -> bool {
    manifest.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.eq_ignore_ascii_case("list"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_taken_apart_and_nulls_dropped() {
        let manifests = expand(vec![
            json!({"apiVersion": "v1", "kind": "list", "items": [
                {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}, null,
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}},
            ]}),
            Value::Null,
            json!({"apiVersion": "v1", "kind": "List"}),
            json!({"apiVersion": "v1", "kind": "PodList", "items": []}),
        ])
        .unwrap();
        let names: Vec<_> = manifests.iter().map(|manifest| manifest.full_name().to_string()).collect();
        assert_eq!(names, ["service a", "configMap b", "PodList null"]);
        assert_eq!(expand(vec![json!({"metadata": {}})]), Err(InvalidManifest::NoKind));
    }

    #[test]
    fn only_namespaced_manifests_are_moved() {
        let kinds = [("v1", "ConfigMap"), ("v1", "Namespace"), ("x.com/v1", "Global"), ("x.com/v1", "Local")];
        let manifests = kinds.map(|(version, kind)| {
            json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "old"}})
        });
        let mut manifests = expand(manifests.into()).unwrap();
        let lookup = |kind: &Kind| (kind.to_string() == "Global.x.com").then_some(false);
        override_namespace(&mut manifests, "new", &KindRules::default(), lookup);
        let namespaces: Vec<_> = manifests.iter().map(Manifest::namespace).collect();
        assert_eq!(namespaces, ["new", "old", "old", "new"]);
        override_namespace(&mut manifests, "  ", &KindRules::default(), lookup);
        assert_eq!(manifests[0].namespace(), "new", "a blank override overrides nothing");
    }
}
