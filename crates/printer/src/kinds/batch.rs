//! Jobs and cron jobs.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{NONE, UNSET, container_images, container_names, is_true, joined, label_selector};
use crate::{
    age::since,
    column::{AGE, Builtin, NAME, boolean, integer, text, wide},
    format_selector, human_duration,
    look::Look,
};

pub(super) const JOB: &[Builtin] = &[
    NAME,
    text("Status", |job, _| status(job).into()),
    text("Completions", |job, _| completions(job).into()),
    text("Duration", |job, now| duration(job, now).unwrap_or_default().into()),
    AGE,
    wide("Containers", container_names),
    wide("Images", container_images),
    wide("Selector", label_selector),
];

pub(super) const CRON_JOB: &[Builtin] = &[
    NAME,
    text("Schedule", |job, _| job.text("/spec/schedule").into()),
    text("Timezone", |job, _| job.text_or("/spec/timeZone", NONE).into()),
    boolean("Suspend", |job, _| match job.at("/spec/suspend").as_bool() {
        Some(true) => "True".into(),
        Some(false) => "False".into(),
        None => UNSET.into(),
    }),
    integer("Active", |job, _| job.count("/status/active").into()),
    text("Last Schedule", |job, now| match job.text("/status/lastScheduleTime") {
        "" => NONE.into(),
        time => since(now, time).into(),
    }),
    AGE,
    wide("Containers", |job, _| joined(job.list(CRON_JOB_CONTAINERS), "/name")),
    wide("Images", |job, _| joined(job.list(CRON_JOB_CONTAINERS), "/image")),
    wide("Selector", |job, _| format_selector(job.at("/spec/jobTemplate/spec/selector")).into()),
];

const CRON_JOB_CONTAINERS: &str = "/spec/jobTemplate/spec/template/spec/containers";

fn status(job: &Value) -> &'static str {
    let is_deleted = job.has("/metadata/deletionTimestamp");
    let holds = |condition| is_true(job, condition);
    match () {
        () if holds("Complete") => "Complete",
        () if holds("Failed") => "Failed",
        () if is_deleted => "Terminating",
        () if holds("Suspended") => "Suspended",
        () if holds("FailureTarget") => "FailureTarget",
        () if holds("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: &Value) -> String {
    let succeeded = job.int("/status/succeeded");
    match (job.at("/spec/completions").as_i64(), job.int("/spec/parallelism")) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

/// Duration of a complete or running job.
pub(crate) fn duration(job: &Value, now: Timestamp) -> Option<String> {
    let started: Timestamp = job.text("/status/startTime").parse().ok()?;
    let ended = job.text("/status/completionTime").parse().unwrap_or(now);
    let took: SignedDuration = ended.duration_since(started);
    Some(human_duration(took))
}
