//! Which tasks a stage consists of, by the names under which Deck shows them.

use super::{Stage, task::Task};

/// The tasks of a stage, in order.
pub(super) fn tasks(stage: &Stage) -> Vec<(&'static str, Task)> {
    use Task::{
        BindProducedArtifacts, CleanUp, Deploy, FindArtifacts, Monitor, Operate, Patch, PromoteOutputs,
        ResolveDeploySource, ResolvePatchSource, ResolveTarget, RunJob, WaitForJob, WaitForStable,
    };
    let operate = |name| (name, Operate);
    match stage.kind.as_str() {
        "deployManifest" => vec![
            ("resolveDeploySourceManifest", ResolveDeploySource),
            ("deployManifest", Deploy),
            ("monitorDeploy", Monitor),
            ("promoteOutputs", PromoteOutputs),
            ("waitForManifestToStabilize", WaitForStable),
            ("cleanupArtifacts", CleanUp),
            ("monitorCleanup", Monitor),
            ("promoteOutputs", PromoteOutputs),
            ("bindProducedArtifacts", BindProducedArtifacts),
        ],
        "deleteManifest" => vec![
            ("resolveTargetManifest", ResolveTarget),
            operate("deleteManifest"),
            ("monitorDelete", Monitor),
            ("promoteOutputs", PromoteOutputs),
        ],
        "scaleManifest" => on_target("scaleManifest", "monitorScale"),
        "enableManifest" => on_target("enableManifest", "monitorEnable"),
        "disableManifest" => on_target("disableManifest", "monitorDisable"),
        "undoRolloutManifest" => vec![
            operate("undoRolloutManifest"),
            ("monitorUndoRollout", Monitor),
            ("waitForManifestToStabilize", WaitForStable),
        ],
        "resumeRolloutManifest" => vec![
            operate("resumeRolloutManifest"),
            ("monitorResumeRollout", Monitor),
            ("waitForManifestToStabilize", WaitForStable),
        ],
        "pauseRolloutManifest" => vec![operate("pauseRolloutManifest"), ("monitorPauseRollout", Monitor)],
        "rollingRestartManifest" => {
            vec![operate("rollingRestartManifest"), ("monitorRollingRestart", Monitor)]
        }
        "patchManifest" => vec![
            ("resolveTargetManifest", ResolveTarget),
            ("resolvePatchSourceManifest", ResolvePatchSource),
            ("patchManifest", Patch),
            ("monitorPatch", Monitor),
            ("promoteOutputs", PromoteOutputs),
            ("waitForManifestToStabilize", WaitForStable),
            ("bindProducedArtifacts", BindProducedArtifacts),
        ],
        "findArtifactsFromResource" => vec![
            ("resolveTargetManifest", ResolveTarget),
            ("findArtifactsFromResource", FindArtifacts),
            ("bindProducedArtifacts", BindProducedArtifacts),
        ],
        "runJob" => vec![
            ("runJob", RunJob),
            ("monitorDeploy", Monitor),
            ("promoteOutputs", PromoteOutputs),
            ("waitOnJobCompletion", WaitForJob),
        ],
        _ => Vec::new(),
    }
}

fn on_target(operation: &'static str, monitor: &'static str) -> Vec<(&'static str, Task)> {
    vec![
        ("resolveTargetManifest", Task::ResolveTarget),
        (operation, Task::Operate),
        (monitor, Task::Monitor),
        ("waitForManifestToStabilize", Task::WaitForStable),
    ]
}
