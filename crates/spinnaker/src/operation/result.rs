//! Result of an operation in its task, for later stages.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::{Artifact, Coordinates, Failure, Manifest, SpinnakerOperation};

/// Result of a deployment, a deletion, a patch, a clean-up or a job.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationResult {
    manifest_names_by_namespace: BTreeMap<String, Vec<String>>,
    /// Absent only for a clean-up: Orca fails if a deployment has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    manifests: Option<Vec<Value>>,
    created_artifacts: Vec<Artifact>,
    bound_artifacts: Vec<Artifact>,
    /// Status of a job, which Orca polls.
    #[serde(skip_serializing_if = "Option::is_none")]
    deployed_names_by_location: Option<BTreeMap<String, Vec<String>>>,
}

// === impl OperationResult ===

impl OperationResult {
    pub fn new() -> Self {
        Self { manifests: Some(Vec::new()), ..Self::default() }
    }

    /// Result of a clean-up, which lists no objects.
    pub fn of_cleanup() -> Self {
        Self::default()
    }

    /// Adds an object as it is in the cluster. Numbers become floats, and the content of a Secret is left out.
    pub fn add_manifest(&mut self, object: &Manifest) {
        self.add_name(&object.coordinates());
        self.manifests.get_or_insert_default().push(object.shown());
    }

    /// Adds a patched object, of which only the name is known.
    pub fn add_stub(&mut self, coordinates: &Coordinates) {
        self.add_name(coordinates);
        let Coordinates { kind, namespace, name } = coordinates;
        let stub = json!({"kind": kind, "metadata": {"namespace": namespace, "name": name}});
        self.manifests.get_or_insert_default().push(stub);
    }

    /// Adds the name of an object that was changed or deleted.
    pub fn add_name(&mut self, coordinates: &Coordinates) {
        let names = self.names_in(&coordinates.namespace);
        let name = coordinates.full_name().to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }

    /// Adds a namespace, perhaps without changed objects.
    pub fn names_in(&mut self, namespace: &str) -> &mut Vec<String> {
        self.manifest_names_by_namespace.entry(namespace.to_owned()).or_default()
    }

    pub fn add_created(&mut self, artifacts: impl IntoIterator<Item = Artifact>) {
        self.created_artifacts.extend(artifacts);
    }

    pub fn add_bound(&mut self, artifacts: impl IntoIterator<Item = Artifact>) {
        for artifact in artifacts {
            if !self.bound_artifacts.contains(&artifact) {
                self.bound_artifacts.push(artifact);
            }
        }
    }

    /// Converts it to the result of a job.
    #[must_use]
    pub fn of_job(mut self) -> Self {
        self.deployed_names_by_location = Some(self.manifest_names_by_namespace.clone());
        self
    }

    pub fn is_empty(&self) -> bool {
        self.manifest_names_by_namespace.is_empty()
    }
}

impl Failure {
    /// Result object of a failed operation.
    pub fn result_object(&self, operation: SpinnakerOperation) -> Value {
        self.result_object_of(operation.class())
    }

    /// The same for a class, which may be unknown.
    pub fn result_object_of(&self, class: &str) -> Value {
        let message = &self.message;
        json!({"type": "EXCEPTION", "operation": class, "message": message, "cause": message,
            "details": [{"message": message}]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_of_a_secret_is_left_out() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": {"token": "Zm9v"},
            "stringData": {"password": "s3cr3t"},
            "metadata": {"name": "s-v000", "namespace": "ns", "managedFields": [{"manager": "x"}],
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"data\": \"Zm9v\"}"}}});
        let mut result = OperationResult::new();
        result.add_manifest(&secret.try_into().unwrap());
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({"manifestNamesByNamespace": {"ns": ["secret s-v000"]}, "createdArtifacts": [], "boundArtifacts": [],
                "manifests": [{"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                    "metadata": {"name": "s-v000", "namespace": "ns", "annotations": {}}}]})
        );
    }

    #[test]
    fn a_patch_leaves_a_stub_and_a_clean_up_no_manifests() {
        let coordinates = Coordinates::new(crate::Kind::parse("deploy"), "ns", "shop-api");
        let mut result = OperationResult::new();
        result.add_stub(&coordinates);
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({"manifestNamesByNamespace": {"ns": ["deployment shop-api"]}, "createdArtifacts": [],
                "boundArtifacts": [],
                "manifests": [{"kind": "deployment", "metadata": {"namespace": "ns", "name": "shop-api"}}]})
        );
        assert_eq!(
            serde_json::to_value(OperationResult::of_cleanup()).unwrap(),
            json!({"manifestNamesByNamespace": {}, "createdArtifacts": [], "boundArtifacts": []})
        );
    }

    #[test]
    fn numbers_of_manifests_are_floats() {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "namespace": "ns"},
            "spec": {"ports": [{"port": 8888}]}});
        let mut result = OperationResult::new();
        result.add_manifest(&service.try_into().unwrap());
        let text = serde_json::to_string(&result).unwrap();
        assert!(text.contains(r#""port":8888.0"#), "{text}");
    }

    #[test]
    fn a_failure_is_written_as_recorded() {
        let failure = Failure::illegal_argument("Only kind of Job is accepted for the Run Job operation.");
        assert_eq!(
            failure.result_object(SpinnakerOperation::RunJob),
            json!({"type": "EXCEPTION", "operation": "KubernetesRunJobOperation",
                "message": "Only kind of Job is accepted for the Run Job operation.",
                "cause": "Only kind of Job is accepted for the Run Job operation.",
                "details": [{"message": "Only kind of Job is accepted for the Run Job operation."}]})
        );
    }
}
