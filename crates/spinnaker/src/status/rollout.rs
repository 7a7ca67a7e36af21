//! Workloads with rollouts: the status is compared with the spec, and the first difference is the message.

use super::{Condition, OLD_GENERATION, Observed, Status};

pub(super) fn deployment(object: Observed<'_>) -> Status {
    if !object.has_status() {
        return Status::none_reported();
    }
    if !object.is_current() {
        return Status::good().unstable(OLD_GENERATION);
    }
    let mut status = Status::good();
    for condition in object.conditions() {
        let message = condition.message();
        if condition.is("reason", "DeploymentPaused") {
            status.paused = Condition { state: true, message: message.map(str::to_owned) };
        }
        if condition.is("type", "Available") && condition.is("status", "False") {
            let lacking = Condition { state: false, message: message.map(str::to_owned) };
            status.stable = lacking.clone();
            status.available = lacking;
        }
        if condition.is("type", "Progressing") && condition.is("reason", "ProgressDeadlineExceeded") {
            status = status.failed("Deployment exceeded its progress deadline");
        }
    }
    let desired = object.count_or_zero("/spec/replicas");
    let updated = object.count_or_zero("/status/updatedReplicas");
    let lacking = if updated < desired {
        "Waiting for all replicas to be updated"
    } else if object.count_or_zero("/status/replicas") > updated {
        "Waiting for old replicas to finish termination"
    } else if object.count_or_zero("/status/availableReplicas") < desired {
        "Waiting for all replicas to be available"
    } else if object.count_or_zero("/status/readyReplicas") < desired {
        "Waiting for all replicas to be ready"
    } else {
        return status;
    };
    status.unstable(lacking)
}

pub(super) fn replica_set(object: Observed<'_>) -> Status {
    if !object.has_status() {
        return Status::none_reported();
    }
    let desired = object.count_or_zero("/spec/replicas");
    let lacks = |pointer| desired > object.count_or_zero(pointer);
    let lacking = if lacks("/status/fullyLabeledReplicas") {
        "Waiting for all replicas to be fully-labeled"
    } else if lacks("/status/readyReplicas") {
        "Waiting for all replicas to be ready"
    } else if lacks("/status/availableReplicas") {
        "Waiting for all replicas to be available"
    } else if !object.is_current() {
        return Status::good().unstable("Waiting for replicaset spec update to be observed");
    } else {
        return Status::good();
    };
    Status::good().unstable(lacking).unavailable(lacking)
}

pub(super) fn stateful_set(object: Observed<'_>) -> Status {
    let strategy = object.text("/spec/updateStrategy/type").unwrap_or_default();
    if strategy.eq_ignore_ascii_case("OnDelete") {
        return Status::good();
    }
    if !object.has_status() {
        return Status::none_reported();
    }
    if !object.is_current() {
        return Status::good().unstable(OLD_GENERATION);
    }
    let desired = object.count_or_zero("/spec/replicas");
    let lacks = |pointer| desired > object.count_or_zero(pointer);
    if lacks("/status/replicas") {
        return Status::good().unstable("Waiting for at least the desired replica count to be met");
    }
    if lacks("/status/readyReplicas") {
        return Status::good().unstable("Waiting for all updated replicas to be ready");
    }
    let rolling = strategy.eq_ignore_ascii_case("RollingUpdate")
        && object.at("/spec/updateStrategy/rollingUpdate").is_some();
    if let (true, Some(updated)) = (rolling, object.count("/status/updatedReplicas")) {
        // The existing pods count, not the desired ones: pods that are still to be deleted are of the old revision.
        let partition = object.count("/spec/updateStrategy/rollingUpdate/partition");
        let lacks_some = |partition| updated < object.count_or_zero("/status/replicas") - partition;
        if partition.is_some_and(lacks_some) {
            return Status::good().unstable("Waiting for partitioned roll out to finish");
        }
        let stable = Condition::because(true, "Partitioned roll out complete");
        return Status { stable, ..Status::good() };
    }
    if lacks("/status/currentReplicas") {
        return Status::good().unstable("Waiting for all updated replicas to be scheduled");
    }
    if object.text("/status/currentRevision") != object.text("/status/updateRevision") {
        return Status::good().unstable("Waiting for the updated revision to match the current revision");
    }
    Status::good()
}

pub(super) fn daemon_set(object: Observed<'_>) -> Status {
    if !object.has_status() {
        return Status::none_reported();
    }
    if !object.is_current() {
        return Status::good().unstable(OLD_GENERATION);
    }
    let strategy = object.text("/spec/updateStrategy/type").unwrap_or_default();
    if !strategy.eq_ignore_ascii_case("RollingUpdate") {
        return Status::good();
    }
    let desired = object.count_or_zero("/status/desiredNumberScheduled");
    let steps = [
        ("/status/currentNumberScheduled", "Waiting for all replicas to be scheduled"),
        ("/status/updatedNumberScheduled", "Waiting for all updated replicas to be scheduled"),
        ("/status/numberAvailable", "Waiting for all replicas to be available"),
        ("/status/numberReady", "Waiting for all replicas to be ready"),
    ];
    match steps.into_iter().find(|(pointer, _)| desired > object.count_or_zero(pointer)) {
        Some((_, lacking)) => Status::good().unstable(lacking),
        None => Status::good(),
    }
}
