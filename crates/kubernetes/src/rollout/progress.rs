//! Status of a rollout.

use serde_json::Value;

use super::{Workload, text};

/// Status of a rollout, with the message of kubectl.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Message for people.
    pub message: String,
    /// Set if the rollout is complete.
    pub done: bool,
}

/// Returns the status of a rollout; an error if it failed, or if the strategy has no status.
pub fn progress(workload: Workload, object: &Value) -> Result<Progress, String> {
    match workload {
        Workload::Deployment => deployment(object),
        Workload::StatefulSet => stateful_set(object),
        Workload::DaemonSet => daemon_set(object),
    }
}

fn deployment(object: &Value) -> Result<Progress, String> {
    let name = text(object, "/metadata/name");
    if !is_observed(object) {
        return waiting("Waiting for deployment spec update to be observed...");
    }
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let progressing = conditions.into_iter().flatten().find(|one| one["type"] == "Progressing");
    if progressing.is_some_and(|condition| condition["reason"] == "ProgressDeadlineExceeded") {
        return Err(format!("deployment {name:?} exceeded its progress deadline"));
    }
    let [replicas, updated, available] = ["replicas", "updatedReplicas", "availableReplicas"]
        .map(|field| number(object, &format!("/status/{field}")).unwrap_or(0));
    let unfinished = format!("Waiting for deployment {name:?} rollout to finish:");
    match number(object, "/spec/replicas") {
        Some(wanted) if updated < wanted => {
            waiting(format!("{unfinished} {updated} out of {wanted} new replicas have been updated..."))
        }
        _ if replicas > updated => {
            waiting(format!("{unfinished} {} old replicas are pending termination...", replicas - updated))
        }
        _ if available < updated => {
            waiting(format!("{unfinished} {available} of {updated} updated replicas are available..."))
        }
        _ => done(format!("deployment {name:?} successfully rolled out")),
    }
}

fn daemon_set(object: &Value) -> Result<Progress, String> {
    only_rolling_updates(object)?;
    let name = text(object, "/metadata/name");
    if !is_observed(object) {
        return waiting("Waiting for daemon set spec update to be observed...");
    }
    let [updated, desired, available] =
        ["updatedNumberScheduled", "desiredNumberScheduled", "numberAvailable"]
            .map(|field| number(object, &format!("/status/{field}")).unwrap_or(0));
    let unfinished = format!("Waiting for daemon set {name:?} rollout to finish:");
    if updated < desired {
        return waiting(format!("{unfinished} {updated} out of {desired} new pods have been updated..."));
    }
    if available < desired {
        return waiting(format!("{unfinished} {available} of {desired} updated pods are available..."));
    }
    done(format!("daemon set {name:?} successfully rolled out"))
}

fn stateful_set(object: &Value) -> Result<Progress, String> {
    only_rolling_updates(object)?;
    let observed = number(object, "/status/observedGeneration").unwrap_or(0);
    if observed == 0 || !is_observed(object) {
        return waiting("Waiting for statefulset spec update to be observed...");
    }
    let wanted = number(object, "/spec/replicas");
    let ready = number(object, "/status/readyReplicas").unwrap_or(0);
    let updated = number(object, "/status/updatedReplicas").unwrap_or(0);
    if let Some(wanted) = wanted.filter(|wanted| ready < *wanted) {
        return waiting(format!("Waiting for {} pods to be ready...", wanted - ready));
    }
    if object.pointer("/spec/updateStrategy/rollingUpdate").is_some_and(Value::is_object) {
        let partition = number(object, "/spec/updateStrategy/rollingUpdate/partition");
        if let (Some(wanted), Some(partition)) = (wanted, partition)
            && updated < wanted - partition
        {
            let expected = wanted - partition;
            return waiting(format!(
                "Waiting for partitioned roll out to finish: {updated} out of {expected} new pods have been updated..."
            ));
        }
        return done(format!("partitioned roll out complete: {updated} new pods have been updated..."));
    }
    let [update, current] =
        ["updateRevision", "currentRevision"].map(|field| text(object, &format!("/status/{field}")));
    if update != current {
        return waiting(format!(
            "waiting for statefulset rolling update to complete {updated} pods at revision {update}..."
        ));
    }
    let replicas = number(object, "/status/currentReplicas").unwrap_or(0);
    done(format!("statefulset rolling update complete {replicas} pods at revision {current}..."))
}

/// Whether the controller has seen the newest spec.
fn is_observed(object: &Value) -> bool {
    let generation = number(object, "/metadata/generation").unwrap_or(0);
    generation <= number(object, "/status/observedGeneration").unwrap_or(0)
}

fn only_rolling_updates(object: &Value) -> Result<(), String> {
    match text(object, "/spec/updateStrategy/type") {
        "RollingUpdate" => Ok(()),
        _ => Err("rollout status is only available for RollingUpdate strategy type".into()),
    }
}

fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer)?.as_i64()
}

#[expect(clippy::unnecessary_wraps, reason = "the return type of all cases above")]
fn waiting(message: impl Into<String>) -> Result<Progress, String> {
    Ok(Progress { message: message.into(), done: false })
}

#[expect(clippy::unnecessary_wraps, reason = "the return type of all cases above")]
fn done(message: String) -> Result<Progress, String> {
    Ok(Progress { message, done: true })
}
