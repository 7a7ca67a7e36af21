//! `kubernetes.*`: what Clouddriver's operators set for all accounts, under its names.

use serde::{Deserialize, Serialize};
use spindrift_spinnaker::{ImageMatch, Labelling};

/// `kubernetes.*`. Clouddriver spells some keys with dashes, such as `apply-app-labels`; both are one key.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Kubernetes {
    /// What is written into manifests.
    pub v2: Marks,
    /// How artifacts are bound.
    pub artifact_binding: ArtifactBinding,
    /// What is told of jobs.
    pub jobs: JobStatus,
}

/// `kubernetes.v2.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Marks {
    /// Whether what is deployed is labelled with its application (`app.kubernetes.io/name`), with who manages it
    /// (`app.kubernetes.io/managed-by`) and, where it has one, its version (`moniker.spinnaker.io/sequence`).
    /// Annotations, which Spinnaker itself goes by, are always written.
    pub apply_app_labels: bool,
    /// What the label `app.kubernetes.io/managed-by` ends with, to tell several Spinnakers apart:
    /// `spinnaker-<suffix>`, or `spinnaker` if it is empty.
    pub managed_by_suffix: String,
}

/// `kubernetes.artifactBinding.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ArtifactBinding {
    /// Which images of a manifest are replaced by an artifact: `match-name-and-tag` are those of its name, whatever
    /// their tag; `match-name-only` are those that have its name and no tag. (The names are Clouddriver's.)
    pub docker_image: ImageMatch,
}

/// `kubernetes.jobs.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct JobStatus {
    /// Whether a job is told with the states of all its pods, which Orca keeps in the execution.
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
    /// How what is deployed is labelled.
    pub fn labelling(&self) -> Labelling<'_> {
        Labelling { enabled: self.v2.apply_app_labels, suffix: &self.v2.managed_by_suffix }
    }
}
