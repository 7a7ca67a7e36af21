//! Table of the specification, kind by kind: status fields of an object, and its Spinnaker status.

use serde_json::json;

use super::*;

/// `stable`, `available`, `paused` and `failed` as a line: `+` or `-`, and the message if there is one.
fn line(object: Value) -> String {
    let status = status(&object.try_into().unwrap()).unwrap();
    let shown = |name: &str, condition: &Condition| {
        let state = if condition.state { '+' } else { '-' };
        match &condition.message {
            Some(message) => format!("{state}{name} {message}"),
            None => format!("{state}{name}"),
        }
    };
    let conditions = [
        shown("stable", &status.stable),
        shown("available", &status.available),
        shown("paused", &status.paused),
        shown("failed", &status.failed),
    ];
    conditions.join("; ")
}

const GOOD: &str = "+stable; +available; -paused; -failed";
const NONE: &str = "-stable No status reported yet; -available No availability reported; -paused; -failed";

fn unstable(message: &str) -> String {
    format!("-stable {message}; +available; -paused; -failed")
}

fn lacking(message: &str) -> String {
    format!("-stable {message}; -available {message}; -paused; -failed")
}

fn workload(kind: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"generation": 2}, "spec": spec, "status": status})
}

#[test]
fn deployments() {
    let spec = json!({"replicas": 2});
    let is = |status: Value| line(workload("Deployment", spec.clone(), status));
    let counted = |updated: i32, total: i32, available: i32, ready: i32| {
        is(json!({"observedGeneration": 2, "updatedReplicas": updated, "replicas": total,
            "availableReplicas": available, "readyReplicas": ready}))
    };
    assert_eq!(is(json!(null)), NONE);
    assert_eq!(is(json!({})), unstable(OLD_GENERATION));
    assert_eq!(is(json!({"observedGeneration": 1})), unstable(OLD_GENERATION));
    assert_eq!(counted(2, 2, 2, 2), GOOD);
    assert_eq!(counted(1, 2, 2, 2), unstable("Waiting for all replicas to be updated"));
    assert_eq!(counted(2, 3, 2, 2), unstable("Waiting for old replicas to finish termination"));
    assert_eq!(counted(2, 2, 1, 1), unstable("Waiting for all replicas to be available"));
    assert_eq!(counted(2, 2, 2, 1), unstable("Waiting for all replicas to be ready"));
    let stuck =
        is(json!({"observedGeneration": 2.0, "updatedReplicas": 2.0, "replicas": 2.0, "conditions": [
        {"type": "Available", "status": "False", "message": "Deployment does not have minimum availability."},
        {"type": "Progressing", "status": "False", "reason": "progressDeadlineExceeded"}]}));
    assert_eq!(
        stuck,
        "-stable Waiting for all replicas to be available; -available Deployment does not have minimum availability.; \
         -paused; +failed Deployment exceeded its progress deadline"
    );
    let paused = is(
        json!({"observedGeneration": 2, "updatedReplicas": 2, "replicas": 2, "availableReplicas": 2,
        "readyReplicas": 2,
        "conditions": [{"type": "Progressing", "reason": "DeploymentPaused", "message": "Deployment is paused"}]}),
    );
    assert_eq!(paused, "+stable; +available; +paused Deployment is paused; -failed");
}

#[test]
fn replica_sets() {
    let is = |status: Value| line(workload("ReplicaSet", json!({"replicas": 1}), status));
    assert_eq!(is(json!(null)), NONE);
    assert_eq!(is(json!({})), lacking("Waiting for all replicas to be fully-labeled"));
    assert_eq!(is(json!({"fullyLabeledReplicas": 1})), lacking("Waiting for all replicas to be ready"));
    let ready = json!({"fullyLabeledReplicas": 1, "readyReplicas": 1});
    assert_eq!(is(ready), lacking("Waiting for all replicas to be available"));
    let old = json!({"fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 1});
    assert_eq!(is(old), unstable("Waiting for replicaset spec update to be observed"));
    let all = json!({"fullyLabeledReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 2});
    assert_eq!(is(all), GOOD);
}

#[test]
fn stateful_sets() {
    let spec = |strategy: Value| json!({"replicas": 3, "updateStrategy": strategy});
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}});
    let is = |strategy: &Value, status: Value| line(workload("StatefulSet", spec(strategy.clone()), status));
    assert_eq!(is(&json!({"type": "OnDelete"}), json!(null)), GOOD);
    assert_eq!(is(&rolling, json!(null)), NONE);
    assert_eq!(is(&rolling, json!({"observedGeneration": 1})), unstable(OLD_GENERATION));
    let seen = |more: Value| {
        let mut status = json!({"observedGeneration": 2});
        status.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        status
    };
    assert_eq!(
        is(&rolling, seen(json!({"replicas": 2}))),
        unstable("Waiting for at least the desired replica count to be met")
    );
    assert_eq!(
        is(&rolling, seen(json!({"replicas": 3, "readyReplicas": 2}))),
        unstable("Waiting for all updated replicas to be ready")
    );
    assert_eq!(
        is(&rolling, seen(json!({"replicas": 3, "readyReplicas": 3, "updatedReplicas": 1}))),
        unstable("Waiting for partitioned roll out to finish")
    );
    assert_eq!(
        is(&rolling, seen(json!({"replicas": 3, "readyReplicas": 3, "updatedReplicas": 2}))),
        "+stable Partitioned roll out complete; +available; -paused; -failed"
    );
    assert_eq!(
        is(&rolling, seen(json!({"replicas": 4, "readyReplicas": 3, "updatedReplicas": 2}))),
        unstable("Waiting for partitioned roll out to finish"),
        "one is yet to go"
    );
    let unsaid = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}});
    assert_eq!(
        is(&unsaid, seen(json!({"replicas": 3, "readyReplicas": 3, "updatedReplicas": 2}))),
        "+stable Partitioned roll out complete; +available; -paused; -failed"
    );
    let plain = json!({"type": "RollingUpdate"});
    assert_eq!(
        is(&plain, seen(json!({"replicas": 3, "readyReplicas": 3, "currentReplicas": 2}))),
        unstable("Waiting for all updated replicas to be scheduled")
    );
    let revisions = json!({"replicas": 3, "readyReplicas": 3, "currentReplicas": 3, "currentRevision": "a",
        "updateRevision": "b"});
    assert_eq!(
        is(&plain, seen(revisions)),
        unstable("Waiting for the updated revision to match the current revision")
    );
    assert_eq!(is(&plain, seen(json!({"replicas": 3, "readyReplicas": 3, "currentReplicas": 3}))), GOOD);
}

#[test]
fn daemon_sets() {
    let rolling = json!({"updateStrategy": {"type": "RollingUpdate"}});
    let is = |status: Value| line(workload("DaemonSet", rolling.clone(), status));
    assert_eq!(is(json!(null)), NONE);
    assert_eq!(is(json!({"observedGeneration": 1})), unstable(OLD_GENERATION));
    let counted = |current: i32, updated: i32, available: i32, ready: i32| {
        is(json!({"observedGeneration": 2, "desiredNumberScheduled": 2, "currentNumberScheduled": current,
            "updatedNumberScheduled": updated, "numberAvailable": available, "numberReady": ready}))
    };
    assert_eq!(counted(1, 2, 2, 2), unstable("Waiting for all replicas to be scheduled"));
    assert_eq!(counted(2, 1, 2, 2), unstable("Waiting for all updated replicas to be scheduled"));
    assert_eq!(counted(2, 2, 1, 2), unstable("Waiting for all replicas to be available"));
    assert_eq!(counted(2, 2, 2, 1), unstable("Waiting for all replicas to be ready"));
    assert_eq!(counted(2, 2, 2, 2), GOOD);
    let on_delete = json!({"updateStrategy": {"type": "OnDelete"}});
    let status = json!({"observedGeneration": 2, "desiredNumberScheduled": 2});
    assert_eq!(line(workload("DaemonSet", on_delete, status)), GOOD);
}

#[test]
fn pods() {
    let is = |status: Value| line(json!({"apiVersion": "v1", "kind": "Pod", "status": status}));
    assert_eq!(is(json!(null)), NONE);
    assert_eq!(is(json!({"phase": "Running"})), GOOD);
    assert_eq!(is(json!({"phase": "Succeeded"})), GOOD);
    assert_eq!(is(json!({"phase": "Pending"})), lacking("Pod is pending"));
    assert_eq!(is(json!({"phase": "Failed"})), lacking("Pod has failed"));
    assert_eq!(is(json!({"phase": "Unknown"})), lacking("Pod phase is unknown"));
    assert_eq!(is(json!({})), lacking("Pod phase is unknown"));
}

#[test]
fn jobs() {
    let is = |spec: Value, status: Value| {
        line(json!({"apiVersion": "batch/v1", "kind": "Job", "spec": spec, "status": status}))
    };
    assert_eq!(is(json!({}), json!(null)), NONE);
    assert_eq!(is(json!({}), json!({})), unstable("Waiting for jobs to finish"));
    assert_eq!(is(json!({}), json!({"succeeded": 1})), GOOD);
    assert_eq!(
        is(json!({"completions": 2}), json!({"succeeded": 1})),
        unstable("Waiting for jobs to finish")
    );
    let late = json!({"conditions": [{"type": "Failed", "status": "True", "message": "too late"}]});
    assert_eq!(is(json!({}), late), "+stable; +available; -paused; +failed too late");
}

#[test]
fn autoscalers_and_cron_jobs() {
    let scaler = |status: Value| {
        line(json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "status": status}))
    };
    assert_eq!(scaler(json!(null)), NONE);
    assert_eq!(
        scaler(json!({"currentReplicas": 2, "desiredReplicas": 0})),
        unstable("Waiting for HPA to complete a scale down, current: 2 desired: 0")
    );
    assert_eq!(
        scaler(json!({"desiredReplicas": 3})),
        unstable("Waiting for HPA to complete a scale up, current: 0 desired: 3")
    );
    assert_eq!(scaler(json!({"currentReplicas": 2, "desiredReplicas": 2})), GOOD);
    let cron = |status: Value| line(json!({"apiVersion": "batch/v1", "kind": "CronJob", "status": status}));
    assert_eq!((cron(json!(null)).as_str(), cron(json!({})).as_str()), (NONE, GOOD));
}

#[test]
fn everything_else_is_stable_at_once() {
    for (api_version, kind) in
        [("v1", "Service"), ("v1", "PersistentVolumeClaim"), ("x.com/v1", "Deployment")]
    {
        assert_eq!(line(json!({"apiVersion": api_version, "kind": kind})), GOOD, "{kind}");
    }
}

#[test]
fn a_workload_of_another_version_cannot_be_read() {
    let old = json!({"apiVersion": "extensions/v1beta1", "kind": "Deployment"});
    let error = status(&old.try_into().unwrap()).unwrap_err().to_string();
    assert_eq!(error, "No version of kind deployment is known as extensions/v1beta1: only apps/v1 is");
}
