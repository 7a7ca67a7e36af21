//! Artifacts: inputs that a pipeline passes from stage to stage, and outputs of a deployment.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Kind, Manifest, annotation::artifact as key, lenient};

mod bind;
mod image;
mod places;
mod pool;

pub use bind::{Binding, ImageMatch, bind, extract};
pub use image::image_name;
pub use pool::{Pool, Unbound, check_bound};

/// Artifact in Spinnaker's JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "ArtifactInput", rename_all = "camelCase")]
pub struct Artifact {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    pub custom_kind: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    pub metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

/// Artifact of a request, with nulls and with keys that belong to its metadata.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ArtifactInput {
    #[serde(deserialize_with = "lenient::text")]
    r#type: Option<String>,
    #[serde(deserialize_with = "lenient::flag")]
    custom_kind: Option<bool>,
    #[serde(deserialize_with = "lenient::text")]
    name: Option<String>,
    #[serde(deserialize_with = "lenient::text")]
    version: Option<String>,
    #[serde(deserialize_with = "lenient::text")]
    location: Option<String>,
    #[serde(deserialize_with = "lenient::text")]
    reference: Option<String>,
    metadata: Option<Map<String, Value>>,
    #[serde(deserialize_with = "lenient::text")]
    artifact_account: Option<String>,
    #[serde(deserialize_with = "lenient::text")]
    provenance: Option<String>,
    #[serde(deserialize_with = "lenient::text")]
    uuid: Option<String>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// Identity of an artifact in the check that all required ones were bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactKey {
    r#type: Option<String>,
    name: Option<String>,
    version: Option<String>,
    location: Option<String>,
    reference: Option<String>,
}

pub(crate) const DOCKER_IMAGE: &str = "docker/image";

// === impl Artifact ===

impl Artifact {
    /// Artifact type of objects of a kind.
    pub fn type_of(kind: &Kind) -> String {
        format!("kubernetes/{kind}")
    }

    /// Artifact of a manifest that is deployed under this name.
    pub fn created(manifest: &Manifest, account: &str, version: Option<&str>) -> Self {
        let name = manifest.name();
        // As in Clouddriver, a versioned manifest without a name is called `null`.
        let reference = match version {
            Some(version) => Some(format!("{}-{version}", name.unwrap_or("null"))),
            None => name.map(str::to_owned),
        };
        Self {
            r#type: Some(Self::type_of(manifest.kind())),
            name: name.map(str::to_owned),
            version: Some(version.unwrap_or_default().to_owned()),
            location: Some(manifest.namespace().to_owned()),
            reference,
            metadata: Map::from_iter([("account".to_owned(), account.into())]),
            ..Self::default()
        }
    }

    /// Artifact in the annotations of a deployed object.
    pub fn deployed(object: &Manifest) -> Option<Self> {
        let text = |key| object.annotation(key).and_then(crate::annotation::unquoted);
        Some(Self {
            r#type: Some(text(key::TYPE).filter(|of_type| !of_type.is_empty())?),
            name: text(key::NAME),
            version: text(key::VERSION),
            location: text(key::LOCATION),
            ..Self::default()
        })
    }

    /// Annotates a manifest with the artifact.
    pub fn annotate(&self, manifest: &mut Manifest) {
        let fields = [
            (key::TYPE, &self.r#type),
            (key::NAME, &self.name),
            (key::LOCATION, &self.location),
            (key::VERSION, &self.version),
        ];
        for (key, value) in fields {
            if let Some(value) = value {
                manifest.annotate_with_pods(key, value);
            }
        }
    }

    pub fn key(&self) -> ArtifactKey {
        ArtifactKey {
            r#type: self.r#type.clone(),
            name: self.name.clone(),
            version: self.version.clone(),
            location: self.location.clone(),
            reference: self.reference.clone(),
        }
    }

    pub(crate) fn is_of_type(&self, of_type: &str) -> bool {
        self.r#type.as_deref() == Some(of_type)
    }

    /// Account that created it, from the metadata.
    fn account(&self) -> Option<&str> {
        self.metadata.get("account").and_then(Value::as_str).filter(|account| !account.is_empty())
    }
}

impl From<ArtifactInput> for Artifact {
    fn from(written: ArtifactInput) -> Self {
        let ArtifactInput {
            r#type,
            custom_kind,
            name,
            version,
            location,
            reference,
            metadata,
            artifact_account,
            provenance,
            uuid,
            unknown,
        } = written;
        let mut metadata = metadata.unwrap_or_default();
        metadata.extend(unknown.into_iter().filter(|(key, _)| key != "kind"));
        Self {
            r#type,
            custom_kind: custom_kind.unwrap_or_default(),
            name,
            version,
            location,
            reference,
            metadata,
            artifact_account,
            provenance,
            uuid,
        }
    }
}

/// Format of Clouddriver's status lines.
impl fmt::Display for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "null".to_owned());
        write!(
            f,
            "Artifact(type={}, customKind={}, name={}, version={}, location={}, reference={}, metadata={}, \
             artifactAccount={}, provenance={}, uuid={})",
            text(&self.r#type),
            self.custom_kind,
            text(&self.name),
            text(&self.version),
            text(&self.location),
            text(&self.reference),
            java_map(&self.metadata),
            text(&self.artifact_account),
            text(&self.provenance),
            text(&self.uuid),
        )
    }
}

fn java_map(map: &Map<String, Value>) -> String {
    let entry = |(key, value): (&String, &Value)| match value {
        Value::String(text) => format!("{key}={text}"),
        Value::Object(map) => format!("{key}={}", java_map(map)),
        other => format!("{key}={other}"),
    };
    format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
}

// === impl ArtifactKey ===

/// Format of Clouddriver's errors.
impl fmt::Display for ArtifactKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "null".to_owned());
        write!(
            f,
            "ArtifactKey(type={}, name={}, version={}, location={}, reference={})",
            text(&self.r#type),
            text(&self.name),
            text(&self.version),
            text(&self.location),
            text(&self.reference),
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn manifest(json: Value) -> Manifest {
        json.try_into().unwrap()
    }

    #[test]
    fn created_artifacts_are_as_recorded() {
        let replica_set = manifest(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "shop-rs", "namespace": "account1-testns00"}}));
        let created = Artifact::created(&replica_set, "account1", Some("v001"));
        let recorded = json!({"type": "kubernetes/replicaSet", "customKind": false, "name": "shop-rs",
            "version": "v001", "location": "account1-testns00", "reference": "shop-rs-v001",
            "metadata": {"account": "account1"}});
        assert_eq!(serde_json::to_value(created).unwrap(), recorded);
        let generated = manifest(json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"generateName": "shop-gen-", "namespace": "wide-ns00"}}));
        let recorded = json!({"type": "kubernetes/job", "customKind": false, "version": "",
            "location": "wide-ns00", "metadata": {"account": "wide"}});
        let created = Artifact::created(&generated, "wide", None);
        assert_eq!(serde_json::to_value(created).unwrap(), recorded);
    }

    #[test]
    fn unknown_keys_belong_to_the_metadata() {
        let read: Artifact =
            serde_json::from_value(json!({"type": "docker/image", "kind": "docker", "version": 7,
            "customKind": null, "metadata": null, "colour": "red"}))
            .unwrap();
        let written = json!({"type": "docker/image", "customKind": false, "version": "7",
            "metadata": {"colour": "red"}});
        assert_eq!(serde_json::to_value(read).unwrap(), written);
    }

    #[test]
    fn an_artifact_reads_as_in_clouddrivers_history() {
        let image: Artifact = serde_json::from_value(json!({"type": "docker/image", "name": "nginx",
            "reference": "nginx:1.27", "version": "1.27", "artifactAccount": "docker"}))
        .unwrap();
        assert_eq!(
            image.to_string(),
            "Artifact(type=docker/image, customKind=false, name=nginx, version=1.27, location=null, \
             reference=nginx:1.27, metadata={}, artifactAccount=docker, provenance=null, uuid=null)"
        );
        let config = manifest(json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "bind-cm", "namespace": "account1-testns00"}}));
        assert_eq!(
            Artifact::created(&config, "account1", Some("v000")).to_string(),
            "Artifact(type=kubernetes/configMap, customKind=false, name=bind-cm, version=v000, \
             location=account1-testns00, reference=bind-cm-v000, metadata={account=account1}, \
             artifactAccount=null, provenance=null, uuid=null)"
        );
    }

    #[test]
    fn empty_fields_are_annotated_and_missing_ones_are_not() {
        let mut job = manifest(json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"generateName": "shop-gen-", "namespace": "wide-ns00"}}));
        Artifact::created(&job, "wide", None).annotate(&mut job);
        assert_eq!(
            job.pointer("/metadata/annotations"),
            Some(&json!({"artifact.spinnaker.io/location": "wide-ns00",
                "artifact.spinnaker.io/type": "kubernetes/job", "artifact.spinnaker.io/version": ""}))
        );
    }
}
