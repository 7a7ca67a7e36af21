//! CronJobs: creates a job at each scheduled time.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use spindrift_process::schedule::Schedule;

use super::{
    fields::{self, flag, has_condition, is_deleted, name, namespace, number, text, uid},
    reconcile::{Kind, ObjectWrite, Plan, ReconcileContext, owner},
};

const SOURCE: &str = "cronjob-controller";
const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

pub(super) fn decide(cron: &Value, jobs: &[Value], context: &mut ReconcileContext<'_>) -> Plan {
    let mut plan = Plan::default();
    if is_deleted(cron) {
        return plan;
    }
    forget(&mut plan, cron, jobs);
    let running: Vec<_> = jobs.iter().filter(|job| !is_finished(job) && !is_deleted(job)).collect();
    let mut started = None;
    // A schedule that cannot be parsed never fires, like a suspended one.
    if let (false, Ok(schedule)) = (flag(cron, "/spec/suspend"), Schedule::cron(text(cron, "/spec/schedule")))
    {
        let since = fields::time(cron, "/status/lastScheduleTime")
            .or_else(|| fields::time(cron, "/metadata/creationTimestamp"))
            .unwrap_or(context.now);
        if let Some(due) = schedule.last_between(since, context.now) {
            started = start(&mut plan, cron, &running, due);
        }
        if let Some(next) = schedule.next_after(context.now) {
            plan.later(Duration::from_secs(
                u64::try_from(next.as_second() - context.now.as_second()).unwrap_or(60),
            ));
        }
    }
    status(&mut plan, cron, jobs, &running, started);
    plan
}

fn is_finished(job: &Value) -> bool {
    has_condition(job, "Complete") || has_condition(job, "Failed")
}

fn start(plan: &mut Plan, cron: &Value, running: &[&Value], due: Timestamp) -> Option<Timestamp> {
    match text(cron, "/spec/concurrencyPolicy") {
        "Forbid" if !running.is_empty() => return None,
        "Replace" => running.iter().for_each(|job| plan.delete(Kind::Job, job)),
        _ => {}
    }
    let job_name = format!("{}-{}", name(cron), due.as_second() / 60);
    let template = &cron["spec"]["jobTemplate"];
    let mut job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name,
            "namespace": namespace(cron),
            "labels": template["metadata"]["labels"],
            "annotations": { SCHEDULED: fields::stamp(due) },
            "ownerReferences": owner(Kind::CronJob, cron),
        },
        "spec": template["spec"],
    });
    if job["metadata"]["labels"].is_null() {
        fields::set(&mut job, &["metadata", "labels"], json!({}));
    }
    plan.record(cron, SOURCE, "SuccessfulCreate", format!("Created job {job_name}"));
    plan.write(ObjectWrite::Create(Kind::Job, job));
    Some(due)
}

/// Deletes the oldest finished jobs beyond the history limits.
fn forget(plan: &mut Plan, cron: &Value, jobs: &[Value]) {
    for (condition, field, default) in
        [("Complete", "/spec/successfulJobsHistoryLimit", 3), ("Failed", "/spec/failedJobsHistoryLimit", 1)]
    {
        let limit = usize::try_from(number(cron, field).unwrap_or(default)).unwrap_or(0);
        let mut finished: Vec<_> =
            jobs.iter().filter(|job| has_condition(job, condition) && !is_deleted(job)).collect();
        finished.sort_by_key(|job| text(job, "/metadata/creationTimestamp"));
        let surplus = finished.len().saturating_sub(limit);
        finished.into_iter().take(surplus).for_each(|job| plan.delete(Kind::Job, job));
    }
}

fn status(plan: &mut Plan, cron: &Value, jobs: &[Value], running: &[&Value], started: Option<Timestamp>) {
    let mut status = cron.get("status").cloned().unwrap_or_else(|| json!({}));
    if let Some(at) = started {
        fields::set(&mut status, &["lastScheduleTime"], fields::stamp(at));
    }
    let newest = jobs.iter().map(|job| text(job, "/status/completionTime")).max().unwrap_or_default();
    if newest > text(&status, "/lastSuccessfulTime") {
        fields::set(&mut status, &["lastSuccessfulTime"], newest);
    }
    let active = |job: &&Value| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "namespace": namespace(job), "name": name(job), "uid": uid(job),
            "resourceVersion": text(job, "/metadata/resourceVersion"),
        })
    };
    if let Some(map) = status.as_object_mut() {
        map.remove("active");
        if !running.is_empty() {
            map.insert("active".to_owned(), running.iter().map(active).collect());
        }
    }
    if cron.get("status").is_some() || status.as_object().is_some_and(|map| !map.is_empty()) {
        plan.status(Kind::CronJob, cron, status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::reconcile::Timing;

    fn decided(policy: &str, jobs: &[Value], now: &str) -> Plan {
        let cron = json!({
            "metadata": { "name": "report", "namespace": "shop", "uid": "c", "creationTimestamp": "2026-01-01T00:00:30Z" },
            "spec": { "schedule": "* * * * *", "concurrencyPolicy": policy, "jobTemplate": { "spec": { "template": {} } } },
        });
        let mut rng = fastrand::Rng::with_seed(1);
        let now = now.parse().unwrap();
        decide(
            &cron,
            jobs,
            &mut ReconcileContext { now, timing: Timing::FAST, rng: &mut rng, pod_budget: 500 },
        )
    }

    fn started(plan: &Plan) -> Vec<&str> {
        let started = |write: &'_ ObjectWrite| matches!(write, ObjectWrite::Create(Kind::Job, _));
        plan.writes.iter().filter(|write| started(write)).map(job_name).collect()
    }

    fn job_name(write: &ObjectWrite) -> &str {
        let ObjectWrite::Create(_, job) = write else { panic!("no job") };
        name(job)
    }

    #[test]
    fn a_job_starts_when_its_minute_comes() {
        let early = decided("Allow", &[], "2026-01-01T00:00:40Z");
        assert!(started(&early).is_empty());
        assert_eq!(early.again, Some(Duration::from_secs(20)));
        assert_eq!(started(&decided("Allow", &[], "2026-01-01T00:01:00Z")), ["report-29453761"]);
        assert_eq!(
            started(&decided("Allow", &[], "2026-01-01T00:03:10Z")),
            ["report-29453763"],
            "the last that was due"
        );
    }

    #[test]
    fn a_running_job_keeps_another_from_starting_if_the_policy_says_so() {
        let running = [json!({ "metadata": { "name": "report-1", "namespace": "shop" } })];
        assert!(started(&decided("Forbid", &running, "2026-01-01T00:01:00Z")).is_empty());
        assert_eq!(started(&decided("Allow", &running, "2026-01-01T00:01:00Z")).len(), 1);
        let replaced = decided("Replace", &running, "2026-01-01T00:01:00Z");
        assert!(replaced.writes.iter().any(|write| matches!(write, ObjectWrite::Delete { .. })));
    }
}
