//! undo, pause, resume, restart.

use jiff::Timestamp;
use serde_json::{Value, json};
use spindrift_kubernetes::{
    LAST_APPLIED,
    rollout::{RESTARTED_AT, Undo, Workload, find_revision, undo as undoing},
};
use spindrift_model::{DryRun, ErrorKind, OperationError};

use super::{
    Answer, JSON_PATCH, Job, STRATEGIC,
    show::{Seen, kept},
};

/// Rolls back to a revision; 0 is the previous one.
pub(super) async fn undo(job: &Job<'_>, to_revision: u64) -> Result<Answer, OperationError> {
    let Some(workload) = job.workload else {
        let message = format!("no rollbacker has been implemented for {:?}", job.resource.kind_and_group());
        return Err(OperationError::agent(ErrorKind::BadRequest, message));
    };
    let object = job.object().await?;
    let revisions = kept(job, workload, &object, Seen::ByUs).await?;
    let revision = find_revision(workload, &object, &revisions, to_revision)
        .map_err(|why| OperationError::agent(ErrorKind::NotFound, why))?;
    let patch = undoing(workload, &object, revision)
        .map_err(|why| OperationError::agent(ErrorKind::Conflict, why))?;
    let warnings = warnings_about(job, &object);
    match patch {
        Undo::Nothing => {
            let action =
                format!("skipped rollback (current template already matches revision {to_revision})");
            job.unchanged(&action, &object, &warnings)
        }
        _ if job.dry_run == DryRun::Client => {
            let mut object = object;
            object["spec"]["template"] = revision.template.clone();
            job.unchanged(ROLLED_BACK, &object, &warnings)
        }
        Undo::JsonPatch(patch) => job.patch(JSON_PATCH, &patch, ROLLED_BACK, warnings).await,
        Undo::StrategicMergePatch(patch) => job.patch(STRATEGIC, &patch, ROLLED_BACK, warnings).await,
    }
}

const ROLLED_BACK: &str = "rolled back";

/// Warning of kubectl: a later apply starts from the configuration before the rollback.
fn warnings_about(job: &Job<'_>, object: &Value) -> Vec<String> {
    let annotations = object.pointer("/metadata/annotations");
    if annotations.and_then(|annotations| annotations.get(LAST_APPLIED)).is_none() {
        return Vec::new();
    }
    vec![format!(
        "resource {}/{} was previously managed with 'kubectl apply'. Rolling back will not update the {LAST_APPLIED} \
         annotation, which may cause unexpected behavior on future 'kubectl apply' operations. Consider using 'kubectl \
         apply' with your previous configuration file instead.",
        job.resource.plural, job.name
    )]
}

/// Pauses a Deployment.
pub(super) async fn pause(job: &Job<'_>) -> Result<Answer, OperationError> {
    let object = pausable(job, "pausing").await?;
    if is_paused(&object) {
        return Err(job.refused("is already paused"));
    }
    change(job, object, &json!({ "spec": { "paused": true } }), "paused").await
}

/// Resumes a Deployment.
pub(super) async fn resume(job: &Job<'_>) -> Result<Answer, OperationError> {
    let object = pausable(job, "resuming").await?;
    if !is_paused(&object) {
        return Err(job.refused("is not paused"));
    }
    change(job, object, &json!({ "spec": { "paused": null } }), "resumed").await
}

/// Restarts all pods, by an annotation of their template with the time.
pub(super) async fn restart(job: &Job<'_>) -> Result<Answer, OperationError> {
    let workload = job.workload.ok_or_else(|| job.unsupported("restarting"))?;
    let object = job.object().await?;
    if workload == Workload::Deployment && is_paused(&object) {
        return Err(job.refused("can't restart paused deployment (run rollout resume first)"));
    }
    let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let annotations = object.pointer("/spec/template/metadata/annotations");
    if annotations.and_then(|all| all.get(RESTARTED_AT)) == Some(&Value::from(now.clone())) {
        let why = "if restart has already been triggered within the past second, please wait before attempting to trigger another";
        let message = format!("failed to create patch for {}: {why}", job.name);
        return Err(OperationError::agent(ErrorKind::Conflict, message));
    }
    let patch = json!({ "spec": { "template": { "metadata": { "annotations": { RESTARTED_AT: now } } } } });
    change(job, object, &patch, "restarted").await
}

async fn change(
    job: &Job<'_>,
    mut object: Value,
    patch: &Value,
    action: &str,
) -> Result<Answer, OperationError> {
    if job.dry_run == DryRun::Client {
        overlay(&mut object, patch);
        return job.unchanged(action, &object, &[]);
    }
    job.patch(STRATEGIC, patch, action, Vec::new()).await
}

/// Object after a patch of plain maps.
fn overlay(object: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        patch.clone_into(object);
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            object.as_object_mut().map(|fields| fields.remove(name));
        } else {
            overlay(&mut object[name], value);
        }
    }
}

async fn pausable(job: &Job<'_>, what: &str) -> Result<Value, OperationError> {
    if job.workload != Some(Workload::Deployment) {
        return Err(job.unsupported(what));
    }
    job.object().await
}

fn is_paused(object: &Value) -> bool {
    object.pointer("/spec/paused") == Some(&Value::Bool(true))
}
