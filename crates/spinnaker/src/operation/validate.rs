//! Validation of a description before its task is created: `<context>.<context>.<attribute>.<code>`.

use super::{OperationDescription, SpinnakerOperation};
use crate::{FullName, Manifest, manifest};
use spindrift_model::check_path_segment;

/// Namespaces in which an account may be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamespaceRules {
    /// Allowed namespaces; all if empty.
    pub only: Vec<String>,
    pub omit: Vec<String>,
}

/// Validation error of a description.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{context}.{context}.{attribute}.{code}")]
pub struct Violation {
    context: &'static str,
    attribute: String,
    code: &'static str,
}

// === impl NamespaceRules ===

impl NamespaceRules {
    fn check(&self, namespace: &str) -> Option<&'static str> {
        let named = |list: &[String]| list.iter().any(|name| name == namespace);
        if namespace.is_empty() {
            None
        } else if !is_path_segment(namespace) {
            Some("invalidNamespace")
        } else if !self.only.is_empty() && !named(&self.only) {
            Some("wrongNamespace")
        } else {
            named(&self.omit).then_some("omittedNamespace")
        }
    }
}

// === impl Violation ===

impl Violation {
    fn new(context: &'static str, attribute: impl Into<String>, code: &'static str) -> Self {
        Self { context, attribute: attribute.into(), code }
    }

    /// The account is missing.
    pub fn account_empty(operation: SpinnakerOperation) -> Option<Self> {
        Some(Self::new(operation.validation_context()?, "account", "empty"))
    }

    /// The account does not exist, though another one that the description names does.
    pub fn account_not_found(operation: SpinnakerOperation) -> Option<Self> {
        Some(Self::new(operation.validation_context()?, "account", "notFound"))
    }
}

/// All errors of a description. `manifests` are those of a deployment, in their final namespaces.
pub fn validate(
    operation: SpinnakerOperation,
    description: &OperationDescription,
    manifests: &[Manifest],
    namespaces: &NamespaceRules,
) -> Vec<Violation> {
    let Some(context) = operation.validation_context() else { return Vec::new() };
    let empty = |attribute: &str| Violation::new(context, attribute, "empty");
    let mut violations = Vec::new();
    let mut check = |namespace: &str| {
        let violation = namespaces.check(namespace).map(|code| Violation::new(context, namespace, code));
        violations.extend(violation);
    };
    match description {
        OperationDescription::Deploy(deploy) => {
            for manifest in manifests {
                check(manifest.namespace());
            }
            let names = manifests.iter().filter_map(Manifest::name);
            let invalid = names.filter(|name| !is_path_segment(name));
            violations.extend(invalid.map(|name| Violation::new(context, name, "invalidName")));
            if deploy.manifests.is_none() {
                violations.push(empty("manifests"));
            }
        }
        OperationDescription::Delete(delete) => check(&delete.location),
        OperationDescription::Scale(scale) => check(&scale.location),
        OperationDescription::Rollout(rollout) => check(&rollout.location),
        OperationDescription::Traffic(traffic) => check(&traffic.location),
        OperationDescription::Undo(undo) => {
            check(&undo.location);
            if undo.revision.is_none() && undo.num_revisions_back.is_none() {
                violations.push(empty("numRevisionsBack & revision"));
            }
        }
        OperationDescription::Patch(patch) => {
            check(&patch.location);
            if patch.patch_body.as_ref().is_none_or(serde_json::Value::is_null) {
                violations.push(empty("patchBody"));
            }
            if patch.options.as_ref().is_none_or(|options| options.merge_strategy.is_none()) {
                violations.push(empty("mergeStrategy"));
            }
        }
        OperationDescription::Resize(resize) => {
            check(&resize.region);
            if resize.capacity.as_ref().is_none_or(|capacity| capacity.desired.is_none()) {
                violations.push(empty("capacity"));
            }
        }
        OperationDescription::Cleanup(_) | OperationDescription::RunJob(_) => {}
    }
    let target = description.target().and_then(|name| FullName::parse(name).ok());
    let invalid = target.filter(|target| !is_path_segment(&target.name));
    violations.extend(invalid.map(|target| Violation::new(context, target.name, "invalidName")));
    violations.dedup();
    violations
}

/// Whether a name can be part of an API server's path. With another one the path would address another object.
fn is_path_segment(name: &str) -> bool {
    check_path_segment("name", name).is_ok()
}

impl OperationDescription {
    /// Manifests of a deployment, before a namespace overrides theirs.
    pub fn manifests(&self) -> Result<Vec<Manifest>, manifest::InvalidInput> {
        let Self::Deploy(deploy) = self else { return Ok(Vec::new()) };
        let mut manifests = deploy.manifests.clone().unwrap_or_default();
        if manifests.is_empty() {
            manifests.extend(deploy.manifest.clone());
        }
        manifest::expand(manifests)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::operation::SubmittedOperation;

    fn errors(operation: &str, mut description: Value) -> Vec<String> {
        description["account"] = "account1".into();
        let operation = SpinnakerOperation::parse(operation).unwrap();
        let submission = SubmittedOperation::parse(operation, description).unwrap();
        let manifests = submission.description.manifests().unwrap();
        let namespaces =
            NamespaceRules { only: vec!["default".into(), "testns".into()], omit: vec!["testns".into()] };
        let violations = validate(operation, &submission.description, &manifests, &namespaces);
        violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn violations_are_named_as_recorded() {
        let deployment = |namespace: &str| {
            let metadata = json!({"name": "x", "namespace": namespace});
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata})
        };
        let name = "deployment x";
        let table = [
            (
                "scaleManifest",
                json!({"manifestName": name, "location": "elsewhere"}),
                "scaleKubernetesManifest.scaleKubernetesManifest.elsewhere.wrongNamespace",
            ),
            (
                "deleteManifest",
                json!({"manifestName": name, "location": "testns"}),
                "deleteKubernetesManifest.deleteKubernetesManifest.testns.omittedNamespace",
            ),
            (
                "deployManifest",
                json!({"manifests": [deployment(""), deployment("no"), deployment("no")]}),
                "deployKubernetesManifest.deployKubernetesManifest.no.wrongNamespace",
            ),
            (
                "deployManifest",
                json!({"manifest": null}),
                "deployKubernetesManifest.deployKubernetesManifest.manifests.empty",
            ),
            (
                "undoRolloutManifest",
                json!({"manifestName": name, "location": "default"}),
                "undoRolloutKubernetesManifest.undoRolloutKubernetesManifest.numRevisionsBack & revision.empty",
            ),
            (
                "resizeServerGroup",
                json!({"serverGroupName": "replicaSet x", "region": "default"}),
                "deployKubernetesManifest.deployKubernetesManifest.capacity.empty",
            ),
            (
                "patchManifest",
                json!({"manifestName": name, "patchBody": {"a": 1}}),
                "patchKubernetesManifest.patchKubernetesManifest.mergeStrategy.empty",
            ),
        ];
        for (operation, description, error) in table {
            assert_eq!(errors(operation, description), [error]);
        }
    }

    #[test]
    fn names_that_would_address_another_object_are_violations() {
        let manifest = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}});
        let table = [
            (
                "scaleManifest",
                json!({"manifestName": "deployment kube-system/configmaps/x", "location": "default"}),
                "scaleKubernetesManifest.scaleKubernetesManifest.kube-system/configmaps/x.invalidName",
            ),
            (
                "deleteManifest",
                json!({"manifestName": "deployment x", "location": ".."}),
                "deleteKubernetesManifest.deleteKubernetesManifest....invalidNamespace",
            ),
            (
                "deployManifest",
                json!({"manifests": [manifest]}),
                "deployKubernetesManifest.deployKubernetesManifest.a/b.invalidName",
            ),
        ];
        for (operation, description, error) in table {
            assert_eq!(errors(operation, description), [error]);
        }
    }

    #[test]
    fn a_valid_description_has_no_violations() {
        assert!(
            errors("scaleManifest", json!({"manifestName": "deployment x", "location": "default"}))
                .is_empty()
        );
        assert!(errors("scaleManifest", json!({"manifestName": "deployment x", "location": ""})).is_empty());
        assert!(errors("runJob", json!({"namespace": "elsewhere"})).is_empty());
        assert!(errors("deployManifest", json!({"manifests": []})).is_empty());
    }
}
