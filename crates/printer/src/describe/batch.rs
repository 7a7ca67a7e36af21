//! Jobs and cron jobs.

use jiff::Timestamp;
use serde_json::Value;

use super::{Page, controlled_by, flag_text, pod, time};
use crate::{kinds::batch, labels::selector_text, look::Look};

pub(super) fn job(job: &Value, now: Timestamp, page: &mut Page) {
    page.field(0, "Selector", selector_text(job.at("/spec/selector")));
    page.metadata(job);
    controlled_by(job, page);
    if job.has("/spec/parallelism") {
        page.field(0, "Parallelism", job.int("/spec/parallelism"));
    }
    page.field(0, "Completions", or_unset(job, "/spec/completions"));
    for (name, pointer) in [
        ("Completion Mode", "/spec/completionMode"),
        ("Suspend", "/spec/suspend"),
        ("Backoff Limit", "/spec/backoffLimit"),
        ("TTL Seconds After Finished", "/spec/ttlSecondsAfterFinished"),
    ] {
        if let Some(value) = job.scalar(pointer) {
            page.field(0, name, value);
        }
    }
    for (name, pointer) in [("Start Time", "/status/startTime"), ("Completed At", "/status/completionTime")] {
        if job.has(pointer) {
            page.field(0, name, time(job, pointer));
        }
    }
    if job.has("/status/startTime") && job.has("/status/completionTime") {
        page.field(0, "Duration", batch::duration(job, now).unwrap_or_default());
    }
    if job.has("/spec/activeDeadlineSeconds") {
        page.field(0, "Active Deadline Seconds", format!("{}s", job.int("/spec/activeDeadlineSeconds")));
    }
    let status = |field: &str| job.int(&format!("/status/{field}"));
    let ready =
        if job.has("/status/ready") { format!(" ({} Ready)", status("ready")) } else { String::new() };
    let (active, succeeded, failed) = (status("active"), status("succeeded"), status("failed"));
    page.field(
        0,
        "Pods Statuses",
        format!("{active} Active{ready} / {succeeded} Succeeded / {failed} Failed"),
    );
    if job.text("/spec/completionMode") == "Indexed" {
        page.field(0, "Completed Indexes", job.text_or("/status/completedIndexes", "<none>"));
    }
    pod::template(job.at("/spec/template"), page);
}

pub(super) fn cron_job(job: &Value, page: &mut Page) {
    page.metadata(job);
    page.field(0, "Schedule", job.text("/spec/schedule"));
    page.field(0, "Concurrency Policy", job.text("/spec/concurrencyPolicy"));
    let suspend = job.at("/spec/suspend").as_bool();
    page.field(0, "Suspend", suspend.map_or("<unset>", flag_text));
    page.field(0, "Time Zone", or_unset(job, "/spec/timeZone"));
    page.field(0, "Successful Job History Limit", or_unset(job, "/spec/successfulJobsHistoryLimit"));
    page.field(0, "Failed Job History Limit", or_unset(job, "/spec/failedJobsHistoryLimit"));
    let deadline = job.scalar("/spec/startingDeadlineSeconds").map(|seconds| format!("{seconds}s"));
    page.field(0, "Starting Deadline Seconds", deadline.as_deref().unwrap_or("<unset>"));
    let template = job.at("/spec/jobTemplate/spec");
    let selector = template.at("/selector");
    let selector = if selector.is_null() { "<unset>".to_owned() } else { selector_text(selector) };
    page.field(0, "Selector", selector);
    page.field(0, "Parallelism", or_unset(template, "/parallelism"));
    page.field(0, "Completions", or_unset(template, "/completions"));
    if let Some(seconds) = template.scalar("/activeDeadlineSeconds") {
        page.field(0, "Active Deadline Seconds", format!("{seconds}s"));
    }
    pod::template(template.at("/template"), page);
    let last = if job.has("/status/lastScheduleTime") {
        time(job, "/status/lastScheduleTime")
    } else {
        "<unset>".to_owned()
    };
    page.field(0, "Last Schedule Time", last);
    let active: Vec<_> = job.list("/status/active").iter().map(|job| job.text("/name")).collect();
    page.field(0, "Active Jobs", if active.is_empty() { "<none>".to_owned() } else { active.join(", ") });
}

fn or_unset(object: &Value, pointer: &str) -> String {
    object.scalar(pointer).unwrap_or_else(|| "<unset>".to_owned())
}
