//! The tasks that stages are made of.

mod artifacts;
mod job;
mod monitor;
mod operate;
mod outputs;
pub(super) mod stable;
mod target;

use std::time::Duration;

use super::{Exception, Pace, Shift, Stage};

/// A task of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    ResolveDeploySource,
    ResolvePatchSource,
    ResolveTarget,
    Deploy,
    Patch,
    RunJob,
    CleanUp,
    /// Any other operation: it gets the stage's context as it is.
    Operate,
    Monitor,
    PromoteOutputs,
    WaitForStable,
    WaitForJob,
    FindArtifacts,
    BindProducedArtifacts,
}

/// Progress of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// To be run again after a while.
    Running,
    Succeeded,
    Terminal,
}

pub(super) type Outcome = Result<Progress, Exception>;

// === impl Task ===

impl Task {
    pub(super) async fn run(self, shift: &Shift<'_>, stage: &mut Stage) -> Outcome {
        match self {
            Self::ResolveDeploySource => artifacts::resolve_deploy_source(stage),
            Self::ResolvePatchSource => {
                artifacts::resolve_patch_source(stage);
                Ok(Progress::Succeeded)
            }
            Self::ResolveTarget => target::resolve(shift, stage).await,
            Self::Deploy => operate::deploy(shift, stage).await,
            Self::Patch => operate::patch(shift, stage).await,
            Self::RunJob => operate::run_job(shift, stage).await,
            Self::CleanUp => operate::clean_up(shift, stage).await,
            Self::Operate => operate::on_manifest(shift, stage).await,
            Self::Monitor => monitor::look(shift, stage).await,
            Self::PromoteOutputs => outputs::promote(stage),
            Self::WaitForStable => stable::look(shift, stage).await,
            Self::WaitForJob => job::look(shift, stage).await,
            Self::FindArtifacts => artifacts::find(shift, stage).await,
            // No recorded stage expects artifacts.
            Self::BindProducedArtifacts => Ok(Progress::Succeeded),
        }
    }

    /// Time before Orca runs the task again.
    pub(super) fn back_off(self, pace: &Pace) -> Duration {
        match self {
            Self::WaitForJob => pace.job,
            Self::Monitor | Self::WaitForStable => pace.poll,
            _ => pace.submit,
        }
    }

    /// When Orca gives up.
    pub(super) fn timeout(self, pace: &Pace, stage: &Stage) -> Duration {
        let minutes = stage.get("stableManifestTimeoutMinutes").as_u64().map(Duration::from_mins);
        match self {
            Self::WaitForStable => minutes.unwrap_or(pace.stable_timeout),
            Self::WaitForJob => pace.job_timeout,
            _ => pace.task_timeout,
        }
    }
}
