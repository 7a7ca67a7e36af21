//! Comparison of an execution with the recorded one.

use serde_json::{Map, Value, json};

use super::{
    Call, Difference, Execution, RecordedCall, RecordedExecution, RecordedStage, Stage, differences,
};

/// Differences in the outcome: statuses, tasks, outputs, and the results of Clouddriver's tasks.
pub fn differences_of_outcome(recorded: &RecordedExecution, ours: &Execution) -> Vec<Difference> {
    let recorded = json!({
        "status": recorded.status,
        "stages": recorded.stages.iter().map(recorded_stage).collect::<Vec<_>>(),
    });
    let ours = json!({
        "status": ours.status.as_str(),
        "stages": ours.stages.iter().map(stage).collect::<Vec<_>>(),
    });
    differences(&recorded, &ours)
}

/// Differences in the calls. The number of polls does not matter.
pub fn differences_of_calls(recorded: &[RecordedCall], ours: &[Call]) -> Vec<Difference> {
    let recorded = recorded.iter().map(
        |call| json!({ "method": call.method, "path": call.path, "status": call.status, "body": call.body }),
    );
    let ours = ours.iter().map(
        |call| json!({ "method": call.method, "path": call.path, "status": call.status, "body": call.body }),
    );
    differences(&json!({ "calls": without_polls(recorded) }), &json!({ "calls": without_polls(ours) }))
}

fn without_polls(calls: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut calls: Vec<_> = calls.collect();
    calls.dedup_by(|one, other| one["method"] == "GET" && one["path"] == other["path"]);
    calls
}

fn recorded_stage(stage: &RecordedStage) -> Value {
    json!({
        "refId": stage.ref_id,
        "type": stage.r#type,
        "status": stage.status,
        "syntheticStageOwner": stage.synthetic_stage_owner,
        "tasks": stage.tasks,
        "outputs": stage.outputs,
        "context": stage.context,
    })
}

fn stage(stage: &Stage) -> Value {
    const KEPT: [&str; 5] = ["deploy.jobs", "exception", "failedManifests", "kato.tasks", "stableManifests"];
    let kept = stage.context.iter().filter(|(key, _)| KEPT.contains(&key.as_str()));
    let context: Map<_, _> = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    let tasks: Vec<_> = stage.tasks.iter().map(|(name, status)| json!([name, status.as_str()])).collect();
    json!({
        "refId": stage.ref_id,
        "type": stage.kind,
        "status": stage.status.as_str(),
        "syntheticStageOwner": stage.owner,
        "tasks": tasks,
        "outputs": stage.outputs,
        "context": context,
    })
}
