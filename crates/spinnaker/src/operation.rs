//! Operations of the Kubernetes provider: names, descriptions, validation, results and messages.

use std::fmt;

use crate::Capability;

mod delete;
mod description;
mod entries;
mod job;
mod lines;
mod patch;
mod request;
mod result;
mod undo;
mod validate;

pub use delete::{Cascade, DeleteOptions};
pub use description::{
    CleanupArtifacts, DeleteManifest, DeployManifest, EnableManifest, PatchManifest, PatchOptions,
    ResizeCapacity, ResizeServerGroup, RolloutManifest, RolloutStrategy, RunJob, ScaleManifest, UndoRollout,
};
pub use entries::Entries;
pub use lines::Lines;
pub use patch::{MergeStrategy, PatchBody};
pub use request::{AccountNames, InvalidRequest, OperationDescription, SubmittedOperation, TaskRequest};
pub use result::OperationResult;
pub use undo::pick_revision;
pub use validate::{NamespaceRules, Violation, validate};

/// Type of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpinnakerOperation {
    CleanupArtifacts,
    RunJob,
    DeleteManifest,
    DeployManifest,
    DisableManifest,
    EnableManifest,
    PatchManifest,
    PauseRolloutManifest,
    ResumeRolloutManifest,
    RollingRestartManifest,
    ScaleManifest,
    UndoRolloutManifest,
    ResizeServerGroup,
}

// === impl Operation ===

impl SpinnakerOperation {
    /// All operations, in the order of `/features/stages`.
    pub const ALL: [Self; 13] = [
        Self::CleanupArtifacts,
        Self::RunJob,
        Self::DeleteManifest,
        Self::DeployManifest,
        Self::DisableManifest,
        Self::EnableManifest,
        Self::PatchManifest,
        Self::PauseRolloutManifest,
        Self::ResumeRolloutManifest,
        Self::RollingRestartManifest,
        Self::ScaleManifest,
        Self::UndoRolloutManifest,
        Self::ResizeServerGroup,
    ];

    /// Parses a name, which may have an `@version`.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.split_once('@').map_or(name, |(name, _)| name);
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::CleanupArtifacts => "cleanupArtifacts",
            Self::RunJob => "runJob",
            Self::DeleteManifest => "deleteManifest",
            Self::DeployManifest => "deployManifest",
            Self::DisableManifest => "disableManifest",
            Self::EnableManifest => "enableManifest",
            Self::PatchManifest => "patchManifest",
            Self::PauseRolloutManifest => "pauseRolloutManifest",
            Self::ResumeRolloutManifest => "resumeRolloutManifest",
            Self::RollingRestartManifest => "rollingRestartManifest",
            Self::ScaleManifest => "scaleManifest",
            Self::UndoRolloutManifest => "undoRolloutManifest",
            Self::ResizeServerGroup => "resizeServerGroup",
        }
    }

    /// Clouddriver's class of the operation, part of a task's history.
    pub fn class(self) -> &'static str {
        match self {
            Self::CleanupArtifacts => "KubernetesCleanupArtifactsOperation",
            Self::RunJob => "KubernetesRunJobOperation",
            Self::DeleteManifest => "KubernetesDeleteManifestOperation",
            Self::DeployManifest => "KubernetesDeployManifestOperation",
            Self::DisableManifest => "KubernetesDisableManifestOperation",
            Self::EnableManifest => "KubernetesEnableManifestOperation",
            Self::PatchManifest => "KubernetesPatchManifestOperation",
            Self::PauseRolloutManifest => "KubernetesPauseRolloutManifestOperation",
            Self::ResumeRolloutManifest => "KubernetesResumeRolloutManifestOperation",
            Self::RollingRestartManifest => "KubernetesRollingRestartManifestOperation",
            Self::ScaleManifest => "KubernetesScaleManifestOperation",
            Self::UndoRolloutManifest => "KubernetesUndoRolloutManifestOperation",
            Self::ResizeServerGroup => "KubernetesResizeServerGroupOperation",
        }
    }

    /// Clouddriver's class of its description, part of the error for missing permissions.
    pub fn description_class(self) -> &'static str {
        match self {
            Self::CleanupArtifacts => "KubernetesCleanupArtifactsDescription",
            Self::RunJob => "KubernetesRunJobOperationDescription",
            Self::DeleteManifest => "KubernetesDeleteManifestDescription",
            Self::DeployManifest => "KubernetesDeployManifestDescription",
            Self::DisableManifest | Self::EnableManifest => "KubernetesEnableDisableManifestDescription",
            Self::PatchManifest => "KubernetesPatchManifestDescription",
            Self::PauseRolloutManifest => "KubernetesPauseRolloutManifestDescription",
            Self::ResumeRolloutManifest => "KubernetesResumeRolloutManifestDescription",
            Self::RollingRestartManifest => "KubernetesRollingRestartManifestDescription",
            Self::ScaleManifest => "KubernetesScaleManifestDescription",
            Self::UndoRolloutManifest => "KubernetesUndoRolloutManifestDescription",
            Self::ResizeServerGroup => "KubernetesResizeServerGroupDescription",
        }
    }

    /// Phase of its lines in a task's history.
    pub fn phase(self) -> &'static str {
        match self {
            Self::CleanupArtifacts => "CLEANUP_KUBERNETES_ARTIFACTS",
            Self::RunJob => "RUN_KUBERNETES_JOB",
            Self::DeleteManifest => "DELETE_KUBERNETES_MANIFEST",
            Self::DeployManifest => "DEPLOY_KUBERNETES_MANIFEST",
            Self::DisableManifest => "DISABLE_MANIFEST",
            Self::EnableManifest => "ENABLE_MANIFEST",
            Self::PatchManifest => "PATCH_KUBERNETES_MANIFEST",
            Self::PauseRolloutManifest => "PAUSE_ROLLOUT_KUBERNETES_MANIFEST",
            Self::ResumeRolloutManifest => "RESUME_ROLLOUT_KUBERNETES_MANIFEST",
            Self::RollingRestartManifest => "ROLLING_RESTART_KUBERNETES_MANIFEST",
            Self::ScaleManifest => "SCALE_KUBERNETES_MANIFEST",
            Self::UndoRolloutManifest => "UNDO_ROLLOUT_KUBERNETES_MANIFEST",
            Self::ResizeServerGroup => "RESIZE_KUBERNETES_SERVER_GROUP",
        }
    }

    /// Capability that it requires of its target's kind.
    pub fn capability(self) -> Option<Capability> {
        Some(match self {
            Self::ScaleManifest => Capability::Scale,
            Self::ResizeServerGroup => Capability::Resize,
            Self::PauseRolloutManifest => Capability::PauseRollout,
            Self::ResumeRolloutManifest => Capability::ResumeRollout,
            Self::UndoRolloutManifest => Capability::UndoRollout,
            Self::RollingRestartManifest => Capability::RollingRestart,
            _ => return None,
        })
    }

    /// Prefix of its validation errors; two operations are not validated.
    pub fn validation_context(self) -> Option<&'static str> {
        Some(match self {
            Self::CleanupArtifacts | Self::RunJob => return None,
            Self::DeployManifest | Self::ResizeServerGroup => "deployKubernetesManifest",
            Self::DeleteManifest => "deleteKubernetesManifest",
            Self::DisableManifest => "disableKubernetesManifest",
            Self::EnableManifest => "enableKubernetesManifest",
            Self::PatchManifest => "patchKubernetesManifest",
            Self::PauseRolloutManifest => "pauseRolloutKubernetesManifest",
            Self::ResumeRolloutManifest => "resumeRolloutKubernetesManifest",
            Self::RollingRestartManifest => "rollingRestartKubernetesManifest",
            Self::ScaleManifest => "scaleKubernetesManifest",
            Self::UndoRolloutManifest => "undoRolloutKubernetesManifest",
        })
    }
}

impl fmt::Display for SpinnakerOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_listed_as_recorded() {
        let names: Vec<_> = SpinnakerOperation::ALL.into_iter().map(SpinnakerOperation::name).collect();
        assert_eq!(
            names.join(" "),
            "cleanupArtifacts runJob deleteManifest deployManifest disableManifest enableManifest patchManifest \
             pauseRolloutManifest resumeRolloutManifest rollingRestartManifest scaleManifest undoRolloutManifest \
             resizeServerGroup"
        );
    }

    #[test]
    fn a_name_may_carry_a_version() {
        assert_eq!(SpinnakerOperation::parse("deployManifest@v2"), Some(SpinnakerOperation::DeployManifest));
        assert_eq!(SpinnakerOperation::parse("wibbleManifest"), None);
    }
}
