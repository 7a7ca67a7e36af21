//! Status of a Deployment's rollout, which `kubectl rollout status` reads.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::RolloutBounds;
use crate::controllers::{
    fields::{self, count, flag, name, number, text},
    reconcile::{Kind, Plan, ReconcileContext, condition},
};

/// Number of pods, of the current template and of all.
#[derive(Debug, PartialEq, Eq)]
struct PodCounts {
    replicas: i64,
    updated: i64,
    ready: i64,
    available: i64,
}

pub(super) fn update(
    plan: &mut Plan,
    deployment: &Value,
    bounds: RolloutBounds,
    current: Option<&Value>,
    old: &[&Value],
    context: &ReconcileContext<'_>,
) {
    let counts = PodCounts::of(current, old);
    let at = context.stamp();
    let mut status = json!({
        "observedGeneration": number(deployment, "/metadata/generation").unwrap_or(1),
        "conditions": [
            available(deployment, bounds, &counts, &at),
            progressing(plan, deployment, bounds, &counts, current, context),
        ],
    });
    // Zero is omitted, as in Go.
    let unavailable = (bounds.replicas - counts.available).max(0);
    for (field, value) in [
        ("replicas", counts.replicas),
        ("updatedReplicas", counts.updated),
        ("readyReplicas", counts.ready),
        ("availableReplicas", counts.available),
        ("unavailableReplicas", unavailable),
    ] {
        if value != 0 {
            fields::set(&mut status, &[field], value);
        }
    }
    plan.status(Kind::Deployment, deployment, status);
}

fn available(deployment: &Value, bounds: RolloutBounds, counts: &PodCounts, at: &str) -> Value {
    let enough = counts.available >= bounds.least_available;
    let why = if enough {
        ("MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    let mut available = condition(deployment, at, "Available", enough, why);
    let since = available["lastTransitionTime"].clone();
    fields::set(&mut available, &["lastUpdateTime"], since);
    available
}

fn progressing(
    plan: &mut Plan,
    deployment: &Value,
    bounds: RolloutBounds,
    counts: &PodCounts,
    current: Option<&Value>,
    context: &ReconcileContext<'_>,
) -> Value {
    let at = context.stamp();
    let set = current.map(name).unwrap_or_default();
    let before = PodCounts::told(deployment);
    let old = fields::condition(deployment, "Progressing");
    let complete = current.is_some()
        && counts.updated == bounds.replicas
        && counts.replicas == bounds.replicas
        && counts.available >= bounds.replicas;
    let (moving, reason, message) = if complete {
        (true, "NewReplicaSetAvailable", format!("ReplicaSet \"{set}\" has successfully progressed."))
    } else if current.is_none() && flag(deployment, "/spec/paused") {
        (true, "DeploymentPaused", "Deployment is paused".to_owned())
    } else if current.is_none() {
        (true, "NewReplicaSetCreated", "Created new replica set".to_owned())
    } else if before == *counts && is_late(plan, deployment, old, context.now) {
        (false, "ProgressDeadlineExceeded", format!("ReplicaSet \"{set}\" has timed out progressing."))
    } else {
        (true, "ReplicaSetUpdated", format!("ReplicaSet \"{set}\" is progressing."))
    };
    let mut progressing = condition(deployment, &at, "Progressing", moving, (reason, &message));
    let same = old.filter(|old| text(old, "/message") == text(&progressing, "/message") && before == *counts);
    let updated = same.map_or(at.as_str(), |old| text(old, "/lastUpdateTime")).to_owned();
    fields::set(&mut progressing, &["lastUpdateTime"], updated);
    progressing
}

/// Whether the rollout made no progress for longer than `progressDeadlineSeconds`; requests a requeue for that time.
fn is_late(plan: &mut Plan, deployment: &Value, progressing: Option<&Value>, now: Timestamp) -> bool {
    let limit = number(deployment, "/spec/progressDeadlineSeconds").unwrap_or(600);
    let Some(progressing) = progressing.filter(|old| text(old, "/reason") != "NewReplicaSetAvailable") else {
        plan.later(Duration::from_secs(limit.unsigned_abs()));
        return false;
    };
    if text(progressing, "/reason") == "ProgressDeadlineExceeded" {
        return true;
    }
    let since = fields::time(progressing, "/lastUpdateTime").unwrap_or(now);
    let left = limit.saturating_sub(now.as_second() - since.as_second());
    if left > 0 {
        plan.later(Duration::from_secs(left.unsigned_abs()));
    }
    left <= 0
}

// === impl PodCounts ===

impl PodCounts {
    fn of(current: Option<&Value>, old: &[&Value]) -> Self {
        let sum = |field: &str| old.iter().copied().chain(current).map(|set| count(set, field)).sum();
        Self {
            replicas: sum("/status/replicas"),
            updated: current.map_or(0, |set| count(set, "/status/replicas")),
            ready: sum("/status/readyReplicas"),
            available: sum("/status/availableReplicas"),
        }
    }

    fn told(deployment: &Value) -> Self {
        Self {
            replicas: count(deployment, "/status/replicas"),
            updated: count(deployment, "/status/updatedReplicas"),
            ready: count(deployment, "/status/readyReplicas"),
            available: count(deployment, "/status/availableReplicas"),
        }
    }
}
