//! Jobs: pods that run until enough have succeeded or too many have failed.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    fields::{
        self, count, flag, has_condition, is_active, is_deleted, is_ready, list, name, namespace, number,
        text,
    },
    reconcile::{Kind, ObjectWrite, Plan, ReconcileContext, owner, pod_of},
};

const SOURCE: &str = "job-controller";

/// Pod counts of a job.
struct JobProgress {
    active: usize,
    ready: usize,
    succeeded: i64,
    failed: i64,
    last_failure: Option<Timestamp>,
}

/// Maximum delay after a failure.
const LONGEST_BACK_OFF: Duration = Duration::from_mins(6);

pub(super) fn decide(job: &Value, pods: &[Value], context: &mut ReconcileContext<'_>) -> Plan {
    let mut plan = Plan::default();
    if is_deleted(job) {
        return plan;
    }
    if has_condition(job, "Complete") || has_condition(job, "Failed") {
        expire(&mut plan, job, context);
        return plan;
    }
    let progress = JobProgress::of(pods);
    let completions = number(job, "/spec/completions").unwrap_or(1);
    if progress.failed > number(job, "/spec/backoffLimit").unwrap_or(6) {
        for pod in pods.iter().filter(|pod| is_active(pod)) {
            plan.delete(Kind::Pod, pod);
        }
        let told = "Job has reached the specified backoff limit";
        finish(
            &mut plan,
            job,
            &progress,
            context,
            &["FailureTarget", "Failed"],
            ("BackoffLimitExceeded", told),
        );
    } else if progress.succeeded >= completions {
        let told = "Reached expected number of succeeded pods";
        finish(
            &mut plan,
            job,
            &progress,
            context,
            &["SuccessCriteriaMet", "Complete"],
            ("CompletionsReached", told),
        );
    } else if is_overdue(&mut plan, job, context) {
        for pod in pods.iter().filter(|pod| is_active(pod)) {
            plan.delete(Kind::Pod, pod);
        }
        let told = "Job was active longer than specified deadline";
        finish(&mut plan, job, &progress, context, &["FailureTarget", "Failed"], ("DeadlineExceeded", told));
    } else if flag(job, "/spec/suspend") {
        for pod in pods.iter().filter(|pod| is_active(pod)) {
            plan.delete(Kind::Pod, pod);
        }
        let at = context.stamp();
        let why = ("JobSuspended", "Job suspended");
        let suspended = super::reconcile::condition(job, &at, "Suspended", true, why);
        let mut status = progress.status(job, None);
        fields::set(&mut status, &["conditions"], vec![suspended]);
        plan.status(Kind::Job, job, status);
    } else {
        run(&mut plan, job, &progress, completions, context);
        plan.status(Kind::Job, job, progress.status(job, Some(context.stamp())));
    }
    plan
}

fn run(
    plan: &mut Plan,
    job: &Value,
    progress: &JobProgress,
    completions: i64,
    context: &mut ReconcileContext<'_>,
) {
    let parallelism = number(job, "/spec/parallelism").unwrap_or(1);
    let wanted = usize::try_from(parallelism.min(completions - progress.succeeded)).unwrap_or(0);
    let missing = wanted.saturating_sub(progress.active);
    if let Some(left) = progress.back_off(context).filter(|_| missing > 0) {
        plan.later(left);
        return;
    }
    for _ in 0..context.claim(missing, plan) {
        let pod_name = format!("{}-{}", name(job), context.suffix());
        plan.record(job, SOURCE, "SuccessfulCreate", format!("Created pod: {pod_name}"));
        let mut pod = pod_of(&job["spec"]["template"], namespace(job), pod_name, owner(Kind::Job, job));
        fields::set(&mut pod, &["metadata", "generateName"], format!("{}-", name(job)));
        for (label, value) in [
            ("batch.kubernetes.io/controller-uid", fields::uid(job)),
            ("batch.kubernetes.io/job-name", name(job)),
            ("controller-uid", fields::uid(job)),
            ("job-name", name(job)),
        ] {
            fields::set(&mut pod, &["metadata", "labels", label], value);
        }
        plan.write(ObjectWrite::Create(Kind::Pod, pod));
    }
}

fn finish(
    plan: &mut Plan,
    job: &Value,
    progress: &JobProgress,
    context: &ReconcileContext<'_>,
    conditions: &[&str],
    (reason, message): (&'static str, &str),
) {
    let at = context.stamp();
    let mut status = progress.status(job, Some(at.clone()));
    let condition = |kind: &&str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message,
            "lastProbeTime": at, "lastTransitionTime": at,
        })
    };
    fields::set(&mut status, &["conditions"], conditions.iter().map(condition).collect::<Vec<_>>());
    if reason == "CompletionsReached" {
        fields::set(&mut status, &["completionTime"], at.as_str());
        plan.record(job, SOURCE, "Completed", "Job completed");
    } else {
        plan.record(job, SOURCE, reason, message);
    }
    fields::set(&mut status, &["ready"], 0);
    if let Some(map) = status.as_object_mut() {
        map.remove("active");
    }
    plan.status(Kind::Job, job, status);
}

/// Whether a job exceeds `activeDeadlineSeconds`; requests a requeue for that time.
fn is_overdue(plan: &mut Plan, job: &Value, context: &ReconcileContext<'_>) -> bool {
    let Some(limit) = number(job, "/spec/activeDeadlineSeconds") else { return false };
    if flag(job, "/spec/suspend") {
        return false;
    }
    let since = fields::time(job, "/status/startTime").unwrap_or(context.now);
    let left = limit.saturating_sub(context.now.as_second() - since.as_second());
    if left > 0 {
        plan.later(Duration::from_secs(left.unsigned_abs()));
    }
    left <= 0
}

/// Deletes a finished job after its `ttlSecondsAfterFinished`.
fn expire(plan: &mut Plan, job: &Value, context: &ReconcileContext<'_>) {
    let Some(limit) = number(job, "/spec/ttlSecondsAfterFinished") else { return };
    let finished = list(job, "/status/conditions").last();
    let Some(since) = finished.and_then(|last| fields::time(last, "/lastTransitionTime")) else { return };
    let left = limit.saturating_sub(context.now.as_second() - since.as_second());
    if left <= 0 {
        plan.delete(Kind::Job, job);
    } else {
        plan.later(Duration::from_secs(left.unsigned_abs()));
    }
}

// === impl JobProgress ===

impl JobProgress {
    fn of(pods: &[Value]) -> Self {
        let phase = |phase: &str| pods.iter().filter(|pod| text(pod, "/status/phase") == phase).count();
        let restarts: i64 = pods
            .iter()
            .filter(|pod| is_active(pod))
            .flat_map(|pod| list(pod, "/status/containerStatuses"))
            .map(|container| count(container, "/restartCount"))
            .sum();
        Self {
            active: pods.iter().filter(|pod| is_active(pod)).count(),
            ready: pods.iter().filter(|pod| is_active(pod) && is_ready(pod)).count(),
            succeeded: i64::try_from(phase("Succeeded")).unwrap_or(i64::MAX),
            failed: i64::try_from(phase("Failed")).unwrap_or(i64::MAX).saturating_add(restarts),
            last_failure: pods
                .iter()
                .filter(|pod| text(pod, "/status/phase") == "Failed")
                .flat_map(|pod| list(pod, "/status/containerStatuses"))
                .filter_map(|container| fields::time(container, "/state/terminated/finishedAt"))
                .max(),
        }
    }

    /// Remaining delay before the next pod may be created; it doubles with each failure.
    fn back_off(&self, context: &ReconcileContext<'_>) -> Option<Duration> {
        let doublings = u32::try_from(self.failed.clamp(0, 10)).unwrap_or(0);
        let wait = (context.timing.back_off * 2_u32.pow(doublings)).min(LONGEST_BACK_OFF);
        let passed = Duration::try_from(context.now.duration_since(self.last_failure?)).unwrap_or_default();
        wait.checked_sub(passed).filter(|left| !left.is_zero())
    }

    fn status(&self, job: &Value, started: Option<String>) -> Value {
        let mut status = json!({ "ready": self.ready, "terminating": 0, "uncountedTerminatedPods": {} });
        let since = text(job, "/status/startTime");
        if let Some(since) = Some(since.to_owned()).filter(|since| !since.is_empty()).or(started) {
            fields::set(&mut status, &["startTime"], since);
        }
        if self.active > 0 {
            fields::set(&mut status, &["active"], self.active);
        }
        for (field, value) in [("succeeded", self.succeeded), ("failed", self.failed)] {
            if value > 0 {
                fields::set(&mut status, &[field], value);
            }
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::reconcile::Timing;

    fn decided(spec: &Value, phases: &[&str]) -> Plan {
        let job = json!({ "metadata": { "name": "report", "namespace": "shop", "uid": "j" }, "spec": spec });
        let pod = |phase: &&str| json!({ "metadata": { "name": "p" }, "status": { "phase": phase } });
        let pods: Vec<_> = phases.iter().map(pod).collect();
        let mut rng = fastrand::Rng::with_seed(1);
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        decide(
            &job,
            &pods,
            &mut ReconcileContext { now, timing: Timing::FAST, rng: &mut rng, pod_budget: 500 },
        )
    }

    fn decided_for(job: &Value, pods: &[Value]) -> Plan {
        let mut rng = fastrand::Rng::with_seed(1);
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        decide(job, pods, &mut ReconcileContext { now, timing: Timing::REAL, rng: &mut rng, pod_budget: 500 })
    }

    #[test]
    fn the_next_pod_waits_longer_after_each_failure() {
        let job = json!({ "metadata": { "name": "report", "namespace": "shop", "uid": "j" }, "spec": {} });
        let failed_at = |at: &str| {
            let state = json!({ "terminated": { "finishedAt": at } });
            json!({ "metadata": {}, "status": { "phase": "Failed", "containerStatuses": [{ "state": state }] } })
        };
        let (now, earlier) = (failed_at("2026-01-01T00:00:00Z"), failed_at("2025-12-31T23:59:00Z"));
        let once = decided_for(&job, std::slice::from_ref(&now));
        assert_eq!((started(&once), once.again), (0, Some(Duration::from_secs(10))));
        assert_eq!(decided_for(&job, &[now, earlier.clone()]).again, Some(Duration::from_secs(20)));
        assert_eq!(started(&decided_for(&job, &[earlier])), 1);
    }

    #[test]
    fn a_job_fails_at_its_deadline() {
        let mut job = json!({
            "metadata": { "name": "report", "namespace": "shop", "uid": "j" },
            "spec": { "activeDeadlineSeconds": 60 },
            "status": { "startTime": "2025-12-31T23:59:30Z" },
        });
        let early = decided_for(&job, &[]);
        assert_eq!((started(&early), early.again), (1, Some(Duration::from_secs(30))));
        job["status"]["startTime"] = "2025-12-31T23:59:00Z".into();
        let late = decided_for(&job, &[]);
        assert_eq!(text(told(&late), "/status/conditions/1/reason"), "DeadlineExceeded");
    }

    fn started(plan: &Plan) -> usize {
        plan.writes.iter().filter(|write| matches!(write, ObjectWrite::Create(Kind::Pod, _))).count()
    }

    fn told(plan: &Plan) -> &Value {
        match plan.writes.last() {
            Some(ObjectWrite::Status(Kind::Job, job)) => job,
            other => panic!("no status: {other:?}"),
        }
    }

    #[test]
    fn as_many_pods_run_at_once_as_are_allowed_and_needed() {
        let spec = json!({ "completions": 5, "parallelism": 3 });
        assert_eq!(started(&decided(&spec, &[])), 3);
        assert_eq!(started(&decided(&spec, &["Running", "Succeeded"])), 2);
        assert_eq!(started(&decided(&spec, &["Succeeded", "Succeeded", "Succeeded", "Succeeded"])), 1);
    }

    #[test]
    fn enough_successes_complete_a_job_and_too_many_failures_fail_it() {
        let plan = decided(&json!({ "completions": 2 }), &["Succeeded", "Succeeded"]);
        assert!(has_condition(told(&plan), "Complete"));
        assert_eq!(text(told(&plan), "/status/completionTime"), "2026-01-01T00:00:00Z");
        let plan = decided(&json!({ "backoffLimit": 1 }), &["Failed", "Failed"]);
        assert!(has_condition(told(&plan), "Failed"));
        let plan = decided(&json!({ "backoffLimit": 2 }), &["Failed", "Failed"]);
        assert!(!has_condition(told(&plan), "Failed"));
        assert_eq!(started(&plan), 1);
    }
}
