//! Lines of a task's history, except those of deployments, which have their own. Orca copies them into its stage and Deck
//! shows them, so that even the odd spots of the messages are kept.

use super::SpinnakerOperation;
use crate::{Coordinates, Failure, Kind, Line};

/// Lines of one operation.
#[derive(Debug, Clone, Copy)]
pub struct Lines(pub SpinnakerOperation);

// === impl Lines ===

impl Lines {
    /// First line; a clean-up has none.
    pub fn start(self, account: &str) -> Option<Line> {
        Some(self.line(match self.0 {
            SpinnakerOperation::CleanupArtifacts => return None,
            SpinnakerOperation::DeployManifest => {
                format!("Beginning deployment of manifests in account {account} ...")
            }
            SpinnakerOperation::RunJob => "Running Kubernetes job...".to_owned(),
            SpinnakerOperation::PatchManifest => {
                format!("Beginning patching of manifest in account {account}...")
            }
            SpinnakerOperation::ResumeRolloutManifest => {
                format!("Starting resume rollout operation in account {account} ...")
            }
            SpinnakerOperation::ResizeServerGroup => "Starting resize operation...".to_owned(),
            _ => format!("Starting {} operation in account {account}...", self.verb()),
        }))
    }

    /// Line before the kind of the target is checked.
    pub fn looking_up(self) -> Line {
        self.line("Looking up resource properties...")
    }

    /// Line before the request to the cluster. As in Clouddriver, it has the name where the namespace is meant.
    pub fn calling(self, target: &Coordinates) -> Line {
        let name = &target.name;
        self.line(match self.0 {
            SpinnakerOperation::ResizeServerGroup => "Calling resize operation...".to_owned(),
            SpinnakerOperation::RollingRestartManifest => {
                format!("Calling rolling restart operation for{name} in namespace {name}...")
            }
            _ => format!("Calling {} operation for {name} in namespace {name}...", self.verb()),
        })
    }

    pub fn calling_scale(self, target: &Coordinates, replicas: i64) -> Line {
        let name = &target.name;
        self.line(format!(
            "Calling scale operation for {name} in namespace {name} with replicas {replicas}..."
        ))
    }

    pub fn looking_up_history(self) -> Line {
        self.line("Looking up rollout history...")
    }

    pub fn picked_revision(self, revision: i64) -> Line {
        self.line(format!("Picked revision {revision}..."))
    }

    pub fn calling_undo(self, target: &Coordinates, revision: i64) -> Line {
        let Coordinates { namespace, name, .. } = target;
        self.line(format!(
            "Calling undo rollout operation for {name} in namespace {namespace} with revision {revision}..."
        ))
    }

    /// Last line; a resize has none.
    pub fn done(self) -> Option<Line> {
        let text = match self.0 {
            SpinnakerOperation::ScaleManifest => "Scale operation completed successfully",
            SpinnakerOperation::PauseRolloutManifest => "Pause rollout operation completed successfully",
            SpinnakerOperation::ResumeRolloutManifest => "Resume rollout operation completed successfully",
            SpinnakerOperation::RollingRestartManifest => "Rolling rollout operation completed successfully",
            SpinnakerOperation::UndoRolloutManifest => "Undo rollout operation completed successfully",
            SpinnakerOperation::PatchManifest => "Patch manifest operation completed successfully",
            SpinnakerOperation::DeleteManifest => {
                " delete operation completed successfully for all applicable resources"
            }
            _ => return None,
        };
        Some(self.line(text))
    }

    pub fn deleting(self, kind: &Kind) -> Line {
        self.line(format!("Looking up resource properties for {kind}..."))
    }

    pub fn calling_delete(self, target: &Coordinates) -> Line {
        self.line(format!("Calling delete operation for resource{target}..."))
    }

    pub fn deleted(self, target: &Coordinates) -> Line {
        self.line(format!(" delete operation completed successfully for {}", target.name))
    }

    pub fn finding_patch_handler(self, target: &Coordinates) -> Line {
        self.line(format!("Finding patch handler for {target}..."))
    }

    pub fn swapping_artifacts(self, target: &Coordinates) -> Line {
        self.line(format!("Swapping out artifacts in {target} from context..."))
    }

    pub fn submitting_patch(self, target: &Coordinates) -> Line {
        self.line(format!("Submitting manifest {} to Kubernetes master...", target.full_name()))
    }

    pub fn getting_load_balancers(self) -> Line {
        self.line(format!("Getting load balancer list to {}...", self.verb()))
    }

    /// Line about the source of the load balancers.
    pub fn using_load_balancers(self, supplied: bool, list: &[String]) -> Line {
        let source = if supplied { "supplied" } else { "annotated" };
        self.line(format!("Using {source} list [{}]", list.join(", ")))
    }

    pub fn patching_target(self, load_balancer: &str) -> Line {
        self.line(format!("Patching target for '{load_balancer}\""))
    }

    pub fn patching_pods(self, load_balancer: &str) -> Line {
        self.line(format!("Patching pods for '{load_balancer}\""))
    }

    pub fn traffic_done(self, target: &Coordinates) -> Line {
        let verb = if self.0 == SpinnakerOperation::EnableManifest { "Enable" } else { "Disable" };
        self.line(format!("{verb} operation for {target} succeeded"))
    }

    /// Line about an object that a clean-up deletes, without its configuration, which Clouddriver adds.
    pub fn cleaning(self, artifact: &crate::Artifact) -> Line {
        self.line(format!("Deleting artifact '{artifact}\""))
    }

    /// Failure of a request to the cluster, with kubectl's message.
    pub fn failed(self, target: &Coordinates, said: &str) -> Failure {
        let Coordinates { kind, namespace, name } = target;
        let what = match self.0 {
            SpinnakerOperation::PatchManifest => {
                return Failure::kubectl(format!(
                    "Patch failed for: {name} in namespace: {namespace}: {said}"
                ));
            }
            SpinnakerOperation::RollingRestartManifest => "complete rolling restart of",
            SpinnakerOperation::ResizeServerGroup => "scale",
            _ => self.verb(),
        };
        Failure::kubectl(format!("Failed to {what} {kind}/{name} from {namespace}: {said}"))
    }

    fn verb(self) -> &'static str {
        match self.0 {
            SpinnakerOperation::DeleteManifest => "delete",
            SpinnakerOperation::DisableManifest => "disable",
            SpinnakerOperation::EnableManifest => "enable",
            SpinnakerOperation::PauseRolloutManifest => "pause rollout",
            SpinnakerOperation::ResumeRolloutManifest => "resume rollout",
            SpinnakerOperation::RollingRestartManifest => "rolling restart",
            SpinnakerOperation::ScaleManifest => "scale",
            SpinnakerOperation::UndoRolloutManifest => "undo rollout",
            SpinnakerOperation::ResizeServerGroup => "resize",
            SpinnakerOperation::PatchManifest => "patch",
            SpinnakerOperation::DeployManifest | SpinnakerOperation::RunJob => "deploy",
            SpinnakerOperation::CleanupArtifacts => "clean up",
        }
    }

    fn line(self, status: impl Into<String>) -> Line {
        Line::new(self.0.phase(), status)
    }
}
