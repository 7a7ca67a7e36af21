//! Parsing of a request's `manifests`: lists are expanded, nulls are dropped, and a namespace may override theirs.

use std::fmt;

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

/// Error for an invalid manifest of a request: which one, counted from zero as in its JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidInput {
    position: usize,
    /// Position in the `List` that is at `position`.
    item: Option<usize>,
    name: Option<String>,
    error: InvalidManifest,
}

/// Manifests of a request: nulls are dropped, and a `List` is replaced by its items.
pub fn expand(manifests: Vec<Value>) -> Result<Vec<Manifest>, InvalidInput> {
    let mut expanded = Vec::with_capacity(manifests.len());
    for (position, manifest) in manifests.into_iter().enumerate() {
        match manifest {
            Value::Null => {}
            mut list if is_list(&list) => {
                let items = list.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take);
                for (item, manifest) in items.into_iter().flatten().enumerate() {
                    if !manifest.is_null() {
                        expanded.push(parse(manifest, position, Some(item))?);
                    }
                }
            }
            manifest => expanded.push(parse(manifest, position, None)?),
        }
    }
    Ok(expanded)
}

fn parse(manifest: Value, position: usize, item: Option<usize>) -> Result<Manifest, InvalidInput> {
    let metadata = manifest.get("metadata");
    let named = |key| metadata.and_then(|metadata| metadata.get(key)).and_then(Value::as_str);
    let name = named("name").or_else(|| named("generateName")).map(str::to_owned);
    manifest.try_into().map_err(|error| InvalidInput { position, item, name, error })
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

// === impl InvalidInput ===

impl fmt::Display for InvalidInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { position, item, name, error } = self;
        write!(f, "manifests[{position}]")?;
        if let Some(item) = item {
            write!(f, ".items[{item}]")?;
        }
        if let Some(name) = name {
            write!(f, " ({name:?})")?;
        }
        write!(f, ": {error}")
    }
}

impl std::error::Error for InvalidInput {}

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
    }

    #[test]
    fn an_invalid_manifest_is_named_by_its_position() {
        let good = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        let bad = json!({"apiVersion": "v1", "metadata": {"name": "b"}});
        for (manifests, expected) in [
            (vec![json!({"metadata": {}})], "manifests[0]: a manifest must have a kind"),
            (
                vec![good.clone(), Value::Null, bad.clone()],
                "manifests[2] (\"b\"): a manifest must have a kind",
            ),
            (
                vec![good, json!({"kind": "List", "items": [null, bad]})],
                "manifests[1].items[1] (\"b\"): a manifest must have a kind",
            ),
            (vec![json!("text")], "manifests[0]: a manifest must be an object"),
        ] {
            assert_eq!(expand(manifests).unwrap_err().to_string(), expected);
        }
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
