//! Pods, jobs and autoscalers.

use super::{Observed, Status};

/// Status of a pod by phase. Readiness does not count, and a failed pod is unstable, not failed.
pub(super) fn pod(object: Observed<'_>) -> Status {
    if !object.has_status() {
        return Status::none_reported();
    }
    let lacking = match object.text("/status/phase").unwrap_or_default().to_lowercase().as_str() {
        "running" | "succeeded" => return Status::good(),
        "pending" => "Pod is pending",
        "failed" => "Pod has failed",
        _ => "Pod phase is unknown",
    };
    Status::good().unstable(lacking).unavailable(lacking)
}

pub(super) fn job(object: Observed<'_>) -> Status {
    if !object.has_status() {
        return Status::none_reported();
    }
    let completions = object.count("/spec/completions").unwrap_or(1);
    if object.count_or_zero("/status/succeeded") >= completions {
        return Status::good();
    }
    let failure = object
        .conditions()
        .find(|condition| condition.is("type", "Failed") && condition.is("status", "True"));
    match failure {
        Some(condition) => Status::good().failed(condition.message().unwrap_or_default()),
        None => Status::good().unstable("Waiting for jobs to finish"),
    }
}

pub(super) fn autoscaler(object: Observed<'_>) -> Status {
    if !object.has_status() {
        return Status::none_reported();
    }
    let desired = object.count_or_zero("/status/desiredReplicas");
    let current = object.count_or_zero("/status/currentReplicas");
    let direction = match desired.cmp(&current) {
        std::cmp::Ordering::Greater => "up",
        std::cmp::Ordering::Less => "down",
        std::cmp::Ordering::Equal => return Status::good(),
    };
    Status::good().unstable(format!(
        "Waiting for HPA to complete a scale {direction}, current: {current} desired: {desired}"
    ))
}
