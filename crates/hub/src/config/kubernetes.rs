//! `kubernetes.*`: Clouddriver's settings for all accounts, with its keys.

use serde::{Deserialize, Serialize};
use spindrift_spinnaker::{ImageMatch, Labelling};

/// `kubernetes.*`. Clouddriver spells some keys with dashes, such as `apply-app-labels`; both are one key.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Kubernetes {
    /// Labels of manifests.
    pub v2: Marks,
    /// Binding of artifacts.
    pub artifact_binding: ArtifactBinding,
    /// Status of jobs.
    pub jobs: JobStatus,
}

/// `kubernetes.v2.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Marks {
    /// Labels deployed objects with their application (`app.kubernetes.io/name`), their manager
    /// (`app.kubernetes.io/managed-by`) and, if they have one, their version (`moniker.spinnaker.io/sequence`).
    /// Annotations, which Spinnaker itself reads, are always written.
    pub apply_app_labels: bool,
    /// Suffix of the label `app.kubernetes.io/managed-by`, to distinguish several Spinnakers:
    /// `spinnaker-<suffix>`, or `spinnaker` if it is empty.
    pub managed_by_suffix: String,
}

/// `kubernetes.artifactBinding.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ArtifactBinding {
    /// Images of a manifest that an artifact replaces: `match-name-and-tag` are those of its name, with any
    /// tag; `match-name-only` are those that have its name and no tag. (The names are Clouddriver's.)
    pub docker_image: ImageMatch,
}

/// `kubernetes.jobs.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct JobStatus {
    /// Adds the states of all its pods to the status of a job, which Orca keeps in the execution.
    pub detailed_pod_status: bool,
}

// === defaults ===

impl Default for Marks {
    fn default() -> Self {
        Self { apply_app_labels: true, managed_by_suffix: String::new() }
    }
}

impl Default for JobStatus {
    fn default() -> Self {
        Self { detailed_pod_status: true }
    }
}

// === impl Kubernetes ===

impl Kubernetes {
    /// Returns the labels of deployed objects.
    pub fn labelling(&self) -> Labelling<'_> {
        Labelling { enabled: self.v2.apply_app_labels, suffix: &self.v2.managed_by_suffix }
    }
}
