//! Workloads: deployments, replica sets, stateful sets, daemon sets and jobs.

use jiff::Timestamp;
use serde_json::Value;

use super::{Page, conditions, metadata, pod, shown, time};
use crate::{format_labels, format_selector, kinds::batch, look::Look, since};

pub(super) fn controller(kind: &str, object: &Value, page: &mut Page) {
    page.field("CreationTimestamp", time(object, "/metadata/creationTimestamp"));
    metadata(object, page);
    let selector = object.at("/spec/selector");
    // Only the selector of a ReplicationController is a plain map.
    let is_plain = kind == "ReplicationController";
    page.field("Selector", if is_plain { format_labels(selector) } else { format_selector(selector) });
    let status = |field: &str| object.int(&format!("/status/{field}"));
    let desired = object.int("/spec/replicas");
    match kind {
        "Deployment" => {
            page.field(
                "Replicas",
                format!(
                    "{desired} desired | {} updated | {} total | {} available | {} unavailable",
                    status("updatedReplicas"),
                    status("replicas"),
                    status("availableReplicas"),
                    status("unavailableReplicas"),
                ),
            );
            page.field("StrategyType", object.text("/spec/strategy/type"));
            page.field("MinReadySeconds", object.int("/spec/minReadySeconds").to_string());
            if object.has("/spec/strategy/rollingUpdate") {
                let (unavailable, surge) = (
                    shown(object, "/spec/strategy/rollingUpdate/maxUnavailable"),
                    shown(object, "/spec/strategy/rollingUpdate/maxSurge"),
                );
                page.field(
                    "RollingUpdateStrategy",
                    format!("{unavailable} max unavailable, {surge} max surge"),
                );
            }
        }
        "StatefulSet" => {
            page.field("Replicas", format!("{desired} desired | {} total", status("replicas")));
            page.field("Ready", format!("{}/{desired}", status("readyReplicas")));
            page.field("Update Strategy", object.text("/spec/updateStrategy/type"));
            page.field("Service Name", object.text("/spec/serviceName"));
        }
        "DaemonSet" => {
            for (name, field) in [
                ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
                ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
                ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
                ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
                ("Number of Nodes Misscheduled", "numberMisscheduled"),
            ] {
                page.field(name, status(field).to_string());
            }
        }
        _ => {
            page.field("Replicas", format!("{} current / {desired} desired", status("replicas")));
            page.field("Ready", status("readyReplicas").to_string());
        }
    }
    pod::template(object.at("/spec/template"), page);
    if kind == "StatefulSet" {
        let claim = |claim: &Value| {
            let size = claim.text("/spec/resources/requests/storage");
            format!("{} ({size})", claim.text("/metadata/name"))
        };
        page.values("Volume Claims", object.list("/spec/volumeClaimTemplates").iter().map(claim).collect());
    }
    conditions(object, page);
}

pub(super) fn job(job: &Value, now: Timestamp, page: &mut Page) {
    page.field("Selector", format_selector(job.at("/spec/selector")));
    metadata(job, page);
    for (name, pointer) in [
        ("Parallelism", "/spec/parallelism"),
        ("Completions", "/spec/completions"),
        ("Completion Mode", "/spec/completionMode"),
        ("Suspend", "/spec/suspend"),
        ("Backoff Limit", "/spec/backoffLimit"),
    ] {
        page.field(name, shown(job, pointer));
    }
    page.field("Start Time", time(job, "/status/startTime"));
    if job.has("/status/completionTime") {
        page.field("Completed At", time(job, "/status/completionTime"));
    }
    page.field("Duration", batch::duration(job, now).unwrap_or_default());
    let status = |field: &str| job.int(&format!("/status/{field}"));
    page.field(
        "Pods Statuses",
        format!(
            "{} Active / {} Succeeded / {} Failed",
            status("active"),
            status("succeeded"),
            status("failed")
        ),
    );
    pod::template(job.at("/spec/template"), page);
    conditions(job, page);
}

pub(super) fn cron_job(job: &Value, now: Timestamp, page: &mut Page) {
    metadata(job, page);
    for (name, pointer) in [
        ("Schedule", "/spec/schedule"),
        ("Time Zone", "/spec/timeZone"),
        ("Concurrency Policy", "/spec/concurrencyPolicy"),
        ("Suspend", "/spec/suspend"),
        ("Successful Job History Limit", "/spec/successfulJobsHistoryLimit"),
        ("Failed Job History Limit", "/spec/failedJobsHistoryLimit"),
    ] {
        page.field(name, shown(job, pointer));
    }
    let last = job.text("/status/lastScheduleTime");
    let ago = if last.is_empty() { "<none>".to_owned() } else { format!("{} ago", since(now, last)) };
    page.field("Last Schedule", ago);
    let active = job.list("/status/active").iter().map(|job| job.text("/name").to_owned());
    page.values("Active Jobs", active.collect());
    pod::template(job.at("/spec/jobTemplate/spec/template"), page);
}
