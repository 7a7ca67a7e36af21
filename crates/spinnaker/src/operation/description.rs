//! Descriptions of operations. Orca posts nearly its whole stage, so that unknown keys are ignored.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{Artifact, LabelSelectors, Moniker, lenient};

/// `deployManifest`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeployManifest {
    /// None if the key is missing, which is a separate error.
    pub manifests: Option<Vec<Value>>,
    /// From old pipelines: used if the list is present and empty.
    pub manifest: Option<Value>,
    pub moniker: Option<Moniker>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub namespace_override: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub required_artifacts: Vec<Artifact>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub optional_artifacts: Vec<Artifact>,
    #[serde(default, deserialize_with = "lenient::flag")]
    pub enable_artifact_binding: Option<bool>,
    #[serde(default, deserialize_with = "lenient::flag")]
    pub versioned: Option<bool>,
    #[serde(default, deserialize_with = "lenient::flag")]
    pub enable_traffic: Option<bool>,
    #[serde(default, deserialize_with = "lenient::texts")]
    pub services: Vec<String>,
    pub strategy: Option<RolloutStrategy>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub label_selectors: LabelSelectors,
    #[serde(default, deserialize_with = "lenient::flag")]
    pub allow_nothing_selected: Option<bool>,
    #[serde(default, deserialize_with = "lenient::flag")]
    pub skip_spec_template_labels: Option<bool>,
}

/// Orca's rollout strategy; here it is only checked against the version history of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RolloutStrategy {
    None,
    RedBlack,
    Highlander,
    BlueGreen,
}

/// `deleteManifest`: an object by name, or all of some kinds by label.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteManifest {
    #[serde(default, deserialize_with = "lenient::text")]
    pub manifest_name: Option<String>,
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub location: String,
    #[serde(default, deserialize_with = "lenient::texts")]
    pub kinds: Vec<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub label_selectors: LabelSelectors,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub options: BTreeMap<String, Value>,
}

/// `scaleManifest`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScaleManifest {
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub manifest_name: String,
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub location: String,
    /// Zero if missing, as in Clouddriver.
    #[serde(default, deserialize_with = "lenient::integer")]
    pub replicas: Option<i64>,
}

/// `pauseRolloutManifest`, `resumeRolloutManifest`, `rollingRestartManifest`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutManifest {
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub manifest_name: String,
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub location: String,
}

/// `undoRolloutManifest`: to a revision, or a number of revisions back, which has precedence.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoRollout {
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub manifest_name: String,
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub location: String,
    #[serde(default, deserialize_with = "lenient::integer")]
    pub revision: Option<i64>,
    #[serde(default, deserialize_with = "lenient::integer")]
    pub num_revisions_back: Option<i64>,
}

/// `patchManifest`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchManifest {
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub manifest_name: String,
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub location: String,
    pub patch_body: Option<Value>,
    pub options: Option<PatchOptions>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub required_artifacts: Vec<Artifact>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub all_artifacts: Vec<Artifact>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PatchOptions {
    pub merge_strategy: Option<super::MergeStrategy>,
    #[serde(default, deserialize_with = "lenient::flag")]
    pub record: Option<bool>,
}

/// `enableManifest` and `disableManifest`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnableManifest {
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub manifest_name: String,
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub location: String,
    #[serde(default, deserialize_with = "lenient::texts")]
    pub load_balancers: Vec<String>,
}

/// `cleanupArtifacts`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CleanupArtifacts {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub manifests: Vec<Value>,
}

/// `runJob`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunJob {
    #[serde(default, deserialize_with = "lenient::text")]
    pub application: Option<String>,
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub namespace: String,
    pub manifest: Option<Value>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub required_artifacts: Vec<Artifact>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub optional_artifacts: Vec<Artifact>,
}

/// `resizeServerGroup`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResizeServerGroup {
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub server_group_name: String,
    #[serde(default, deserialize_with = "lenient::text_or_empty")]
    pub region: String,
    pub capacity: Option<ResizeCapacity>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ResizeCapacity {
    #[serde(default, deserialize_with = "lenient::integer")]
    pub desired: Option<i64>,
}
