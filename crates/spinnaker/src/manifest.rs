//! Manifests: objects to deploy, as people and pipelines write them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spindrift_model::selector::LabelSelector;

use crate::{Coordinates, FullName, Kind, Moniker, annotation, gson};

mod input;

pub use input::{InvalidInput, InvalidManifest, expand, override_namespace};

/// Object as JSON, with its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct Manifest {
    kind: Kind,
    body: Map<String, Value>,
}

/// Treatment of a key that exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Keep,
    Overwrite,
}

// === impl Manifest ===

impl Manifest {
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// `apiVersion` as written; empty if there is none.
    pub fn api_version(&self) -> &str {
        self.body.get("apiVersion").and_then(Value::as_str).unwrap_or_default()
    }

    pub fn name(&self) -> Option<&str> {
        self.metadata("name").filter(|name| !name.is_empty())
    }

    pub fn generate_name(&self) -> Option<&str> {
        self.metadata("generateName").filter(|name| !name.is_empty())
    }

    /// `name` or `generateName`; as in Clouddriver, `null` if there is neither.
    pub fn shown_name(&self) -> &str {
        self.name().or_else(|| self.generate_name()).unwrap_or("null")
    }

    /// Namespace; empty for a cluster-scoped kind and for the cluster's default.
    pub fn namespace(&self) -> &str {
        self.metadata("namespace").unwrap_or_default()
    }

    /// `creationTimestamp`, which sorts as text.
    pub fn created(&self) -> &str {
        self.metadata("creationTimestamp").unwrap_or_default()
    }

    pub fn full_name(&self) -> FullName {
        FullName::new(self.kind.clone(), self.shown_name())
    }

    pub fn coordinates(&self) -> Coordinates {
        self.full_name().at(self.namespace())
    }

    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.pointer("/metadata/annotations")?.get(key)?.as_str()
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.pointer("/metadata/labels")?.get(key)?.as_str()
    }

    pub fn moniker(&self) -> Moniker {
        Moniker::read(&self.kind, self.name().unwrap_or_default(), |key| self.annotation(key))
    }

    /// Labels that load balancers select by: those of the pod template, or its own if it has none.
    pub fn traffic_labels(&self) -> Option<&Map<String, Value>> {
        self.pointer(&format!("{}/labels", self.traffic_metadata()))?.as_object()
    }

    /// JSON pointer of the metadata that load balancers select by.
    pub fn traffic_metadata(&self) -> &'static str {
        if self.has_pod_metadata() { POD_METADATA } else { "/metadata" }
    }

    /// Whether there is a pod template with metadata.
    pub fn has_pod_metadata(&self) -> bool {
        self.pointer(POD_METADATA).is_some_and(Value::is_object)
    }

    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        let (first, rest) = pointer.strip_prefix('/')?.split_once('/').unwrap_or((&pointer[1..], ""));
        let value = self.body.get(first)?;
        if rest.is_empty() { Some(value) } else { value.pointer(&format!("/{rest}")) }
    }

    pub fn as_map(&self) -> &Map<String, Value> {
        &self.body
    }

    pub(crate) fn as_map_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.body
    }

    pub fn set_name(&mut self, name: &str) {
        self.map_at(&["metadata"]).insert("name".into(), name.into());
    }

    pub fn set_namespace(&mut self, namespace: &str) {
        self.map_at(&["metadata"]).insert("namespace".into(), namespace.into());
    }

    pub fn set_replicas(&mut self, replicas: Value) {
        self.map_at(&["spec"]).insert("replicas".into(), replicas);
    }

    /// Annotates the object itself.
    pub fn annotate(&mut self, key: &str, value: &str, existing: Existing) {
        put(self.map_at(&["metadata", "annotations"]), key, value, existing);
    }

    pub fn remove_annotation(&mut self, key: &str) {
        if self.pointer("/metadata/annotations").is_some() {
            self.map_at(&["metadata", "annotations"]).remove(key);
        }
    }

    /// Annotates the object, and the pods of its template.
    pub fn annotate_with_pods(&mut self, key: &str, value: &str) {
        self.annotate(key, value, Existing::Keep);
        if self.has_pod_metadata() {
            put(self.map_at(&["spec", "template", "metadata", "annotations"]), key, value, Existing::Keep);
        }
    }

    /// Labels the object.
    pub fn label_with(&mut self, key: &str, value: &str, existing: Existing) {
        put(self.map_at(&["metadata", "labels"]), key, value, existing);
    }

    /// Labels the pods of the template, if there is one.
    pub fn label_pods(&mut self, key: &str, value: &str, existing: Existing) {
        if self.has_pod_metadata() {
            put(self.map_at(&["spec", "template", "metadata", "labels"]), key, value, existing);
        }
    }

    /// Selector of a workload's pods, as for kubectl's `-l`; none if it would match all pods.
    pub fn pod_selector(&self) -> Option<String> {
        let selector = self.pointer("/spec/selector")?;
        let selector = LabelSelector::of_object(selector).ok().filter(|selector| !selector.is_empty())?;
        Some(selector.to_string())
    }

    /// Last configuration of client-side apply, if it is valid JSON.
    pub fn last_applied(&self) -> Option<Value> {
        serde_json::from_str(self.annotation(annotation::LAST_APPLIED)?).ok()
    }

    /// Whether it is a Secret without `data`, as live reads show it. `stringData` alone is a whole Secret, unless a uid
    /// shows that the object was read from a cluster, where `stringData` adds to the hidden values.
    pub fn lacks_values(&self) -> bool {
        let is_absent = |field: &str| self.body.get(field).is_none_or(Value::is_null);
        self.kind.is("secret") && is_absent("data") && (self.uid().is_some() || is_absent("stringData"))
    }

    /// Uid, which only an object that was read from a cluster has.
    pub fn uid(&self) -> Option<&str> {
        self.metadata("uid").filter(|uid| !uid.is_empty())
    }

    /// The object without `managedFields` and the like, and without the content of a Secret.
    pub(crate) fn shown(&self) -> Value {
        let mut shown = self.clone();
        if let Some(Value::Object(metadata)) = shown.body.get_mut("metadata") {
            metadata.remove("managedFields");
        }
        if shown.kind.is("secret") {
            shown.body.remove("data");
            shown.body.remove("stringData");
            shown.remove_annotation(annotation::LAST_APPLIED);
        }
        gson::with_floats(shown.into())
    }

    /// The object without nulls, as Clouddriver sends it: `replicas: null` resets nothing.
    pub(crate) fn without_nulls(self) -> Self {
        let body = self.body.into_iter().filter(|(_, value)| !value.is_null());
        let body = body.map(|(key, value)| (key, gson::without_nulls(value))).collect();
        Self { kind: self.kind, body }
    }

    fn metadata(&self, key: &str) -> Option<&str> {
        self.body.get("metadata")?.get(key)?.as_str()
    }

    /// Map at a path; missing or other values on the way are replaced by maps.
    fn map_at(&mut self, path: &[&str]) -> &mut Map<String, Value> {
        let mut map = &mut self.body;
        for key in path {
            let value = map.entry(*key).or_insert_with(|| Value::Object(Map::new()));
            if !value.is_object() {
                *value = Value::Object(Map::new());
            }
            map = value.as_object_mut().expect("it was made an object above");
        }
        map
    }
}

const POD_METADATA: &str = "/spec/template/metadata";

fn put(map: &mut Map<String, Value>, key: &str, value: &str, existing: Existing) {
    if existing == Existing::Overwrite || !map.contains_key(key) {
        map.insert(key.to_owned(), value.into());
    }
}

impl TryFrom<Value> for Manifest {
    type Error = InvalidManifest;

    fn try_from(value: Value) -> Result<Self, InvalidManifest> {
        let Value::Object(body) = value else {
            return Err(InvalidManifest::NotAnObject);
        };
        let text = |key| body.get(key).and_then(Value::as_str);
        let kind = text("kind").filter(|kind| !kind.is_empty()).ok_or(InvalidManifest::NoKind)?;
        let kind = Kind::of_manifest(text("apiVersion").unwrap_or_default(), kind);
        Ok(Self { kind, body })
    }
}

impl From<Manifest> for Value {
    fn from(manifest: Manifest) -> Self {
        Self::Object(manifest.body)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotations_reach_the_pods_of_a_template_but_overwrite_nothing() {
        let mut manifest = Manifest::try_from(json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "x", "annotations": {"mine": "1"}},
            "spec": {"template": {"metadata": {}}},
        }))
        .unwrap();
        manifest.annotate_with_pods("mine", "2");
        manifest.annotate_with_pods("yours", "3");
        assert_eq!(manifest.pointer("/metadata/annotations"), Some(&json!({"mine": "1", "yours": "3"})));
        assert_eq!(
            manifest.pointer("/spec/template/metadata/annotations"),
            Some(&json!({"mine": "2", "yours": "3"}))
        );
    }

    #[test]
    fn a_template_without_metadata_is_left_alone() {
        let mut manifest =
            Manifest::try_from(json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {}}}))
                .unwrap();
        manifest.annotate_with_pods("a", "b");
        manifest.label_pods("a", "b", Existing::Overwrite);
        assert_eq!(manifest.pointer("/spec/template"), Some(&json!({})));
        assert_eq!(manifest.traffic_metadata(), "/metadata");
    }

    #[test]
    fn the_pod_selector_has_labels_and_expressions() {
        let found = |selector: Value| {
            let spec = json!({"selector": selector});
            let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": spec});
            Manifest::try_from(set).unwrap().pod_selector()
        };
        let labels = json!({"a": "1", "b": "2"});
        assert_eq!(found(json!({"matchLabels": labels})).as_deref(), Some("a=1,b=2"));
        let expressions = json!([{"key": "c", "operator": "In", "values": ["x", "y"]},
            {"key": "d", "operator": "NotIn", "values": ["z"]}, {"key": "e", "operator": "Exists"},
            {"key": "f", "operator": "DoesNotExist"}]);
        assert_eq!(
            found(json!({"matchExpressions": expressions})).as_deref(),
            Some("c in (x,y),d notin (z),e,!f")
        );
        assert_eq!(
            found(json!({"matchLabels": {"a": "1"}, "matchExpressions": [expressions[2]]})).as_deref(),
            Some("a=1,e")
        );
        for nothing in [json!({}), json!(null), json!({"matchLabels": {}, "matchExpressions": []})] {
            assert_eq!(found(nothing), None, "no selector must not find all pods");
        }
        let unknown = json!([{"key": "c", "operator": "Gt", "values": ["1"]}]);
        assert_eq!(
            found(json!({"matchLabels": {"a": "1"}, "matchExpressions": unknown})),
            None,
            "nor a part of it"
        );
    }

    #[test]
    fn a_manifest_without_a_kind_is_refused() {
        assert!(Manifest::try_from(json!({"metadata": {"name": "x"}})).is_err());
        assert!(Manifest::try_from(json!("text")).is_err());
    }
}
