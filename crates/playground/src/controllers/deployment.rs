//! Deployments: a ReplicaSet per template, scaled within the bounds of the strategy.

mod status;

use serde_json::{Value, json};

use super::{
    fields::{self, Rounding, annotation, count, flag, is_deleted, name, namespace, number, share, text},
    reconcile::{Kind, ObjectWrite, Plan, ReconcileContext, owner, template_hash},
};

pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAXIMUM: &str = "deployment.kubernetes.io/max-replicas";
const HASH: &str = "pod-template-hash";
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const SOURCE: &str = "deployment-controller";

/// Wanted replicas, and the limits of a rollout.
#[derive(Debug, Clone, Copy)]
pub(super) struct RolloutBounds {
    replicas: i64,
    most: i64,
    least_available: i64,
}

/// A ReplicaSet and its new size.
struct ResizedReplicaSet<'a> {
    set: &'a Value,
    size: i64,
}

pub(super) fn decide(deployment: &Value, sets: &[Value], context: &mut ReconcileContext<'_>) -> Plan {
    let mut plan = Plan::default();
    if is_deleted(deployment) {
        return plan;
    }
    let mut sets: Vec<&Value> = sets.iter().filter(|set| !is_deleted(set)).collect();
    sets.sort_by_key(|set| revision(set));
    let bounds = RolloutBounds::of(deployment);
    let hash = template_hash(&deployment["spec"]["template"]);
    let current = sets.iter().position(|set| is_current(deployment, set, &hash));
    let current = current.map(|at| sets.remove(at));

    if flag(deployment, "/spec/paused") {
        scale_paused(&mut plan, deployment, bounds, current, &sets);
    } else if let Some(current) = current {
        roll(&mut plan, deployment, bounds, ResizedReplicaSet::new(current), &sets);
    } else {
        create(&mut plan, deployment, bounds, &hash, &sets);
    }
    if current.is_some() {
        forget(&mut plan, deployment, &sets);
    }
    status::update(&mut plan, deployment, bounds, current, &sets, context);
    plan
}

fn is_current(deployment: &Value, set: &Value, hash: &str) -> bool {
    if fields::label(set, HASH) == hash {
        return true;
    }
    let mut template = set["spec"]["template"].clone();
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(HASH);
    }
    template == deployment["spec"]["template"]
}

pub(super) fn revision(set: &Value) -> i64 {
    annotation(set, REVISION).parse().unwrap_or(0)
}

/// Creates the ReplicaSet of the template, as large as the limits allow.
fn create(plan: &mut Plan, deployment: &Value, bounds: RolloutBounds, hash: &str, old: &[&Value]) {
    let running: i64 = old.iter().map(|set| count(set, "/spec/replicas")).sum();
    let size = match text(deployment, "/spec/strategy/type") {
        "Recreate" if running > 0 || old.iter().any(|set| count(set, "/status/replicas") > 0) => 0,
        "Recreate" => bounds.replicas,
        _ => (bounds.most - running).clamp(0, bounds.replicas),
    };
    let next = old.iter().map(|set| revision(set)).max().unwrap_or(0) + 1;
    let set_name = format!("{}-{hash}", name(deployment));
    let mut template = deployment["spec"]["template"].clone();
    fields::set(&mut template, &["metadata", "labels", HASH], hash);
    let mut selector = deployment["spec"]["selector"].clone();
    fields::set(&mut selector, &["matchLabels", HASH], hash);
    let mut set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": set_name,
            "namespace": namespace(deployment),
            "labels": template["metadata"]["labels"],
            "annotations": inherited(deployment),
            "ownerReferences": owner(Kind::Deployment, deployment),
        },
        "spec": { "replicas": size, "selector": selector, "template": template },
    });
    annotate(&mut set, bounds, next);
    plan.write(ObjectWrite::Create(Kind::ReplicaSet, set));
    if size > 0 {
        plan.record(deployment, SOURCE, "ScalingReplicaSet", scaled("up", &set_name, 0, size));
    }
    set_revision(plan, deployment, next);
}

fn roll(
    plan: &mut Plan,
    deployment: &Value,
    bounds: RolloutBounds,
    current: ResizedReplicaSet<'_>,
    old: &[&Value],
) {
    let newest = old.iter().map(|set| revision(set)).max().unwrap_or(0);
    let revision = revision(current.set).max(newest + 1);
    let mut old: Vec<_> = old.iter().map(|set| ResizedReplicaSet::new(set)).collect();
    let mut current = current;
    if text(deployment, "/spec/strategy/type") == "Recreate" {
        recreate(bounds, &mut current, &mut old);
    } else {
        grow(bounds, &mut current, &old);
        shrink(bounds, &current, &mut old);
    }
    resize(plan, deployment, bounds, &current, Some(revision));
    for set in &old {
        resize(plan, deployment, bounds, set, None);
    }
    set_revision(plan, deployment, revision);
}

fn recreate(bounds: RolloutBounds, current: &mut ResizedReplicaSet<'_>, old: &mut [ResizedReplicaSet<'_>]) {
    let gone = old.iter().all(|set| count(set.set, "/status/replicas") == 0);
    for set in old {
        set.size = 0;
    }
    if gone {
        current.size = bounds.replicas;
    }
}

/// Grows the new ReplicaSet as far as the surge allows.
fn grow(bounds: RolloutBounds, current: &mut ResizedReplicaSet<'_>, old: &[ResizedReplicaSet<'_>]) {
    if current.size >= bounds.replicas {
        current.size = bounds.replicas;
        return;
    }
    let all = current.size + old.iter().map(|set| set.size).sum::<i64>();
    current.size += (bounds.most - all).clamp(0, bounds.replicas - current.size);
}

/// Shrinks the old ReplicaSets as far as enough pods stay available: unhealthy pods first, then the oldest sets.
fn shrink(bounds: RolloutBounds, current: &ResizedReplicaSet<'_>, old: &mut [ResizedReplicaSet<'_>]) {
    let available = |set: &Value| count(set, "/status/availableReplicas");
    let of_old: i64 = old.iter().map(|set| set.size).sum();
    // Pods of the new set that are not available yet must not cost available ones.
    let not_yet = (count(current.set, "/spec/replicas") - available(current.set)).max(0);
    let all = count(current.set, "/spec/replicas") + of_old;
    let mut spare = all - bounds.least_available - not_yet;
    for set in &mut *old {
        let broken = (set.size - available(set.set)).clamp(0, spare.max(0));
        set.size -= broken;
        spare -= broken;
    }
    let serving =
        available(current.set) + old.iter().map(|set| available(set.set).min(set.size)).sum::<i64>();
    let mut spare = serving - bounds.least_available;
    for set in old {
        let fewer = set.size.clamp(0, spare.max(0));
        set.size -= fewer;
        spare -= fewer;
    }
}

/// Scales a paused deployment without rolling it out.
fn scale_paused(
    plan: &mut Plan,
    deployment: &Value,
    bounds: RolloutBounds,
    current: Option<&Value>,
    old: &[&Value],
) {
    let running = |set: &&Value| count(set, "/spec/replicas") > 0;
    let active: Vec<_> = old.iter().copied().chain(current).filter(running).collect();
    let newest = current.or_else(|| old.last().copied());
    let [only] = active.as_slice() else {
        if let (true, Some(newest)) = (active.is_empty(), newest) {
            let set = ResizedReplicaSet { set: newest, size: bounds.replicas };
            resize(plan, deployment, bounds, &set, None);
        }
        return;
    };
    resize(plan, deployment, bounds, &ResizedReplicaSet { set: only, size: bounds.replicas }, None);
}

fn resize(
    plan: &mut Plan,
    deployment: &Value,
    bounds: RolloutBounds,
    wanted: &ResizedReplicaSet<'_>,
    revision: Option<i64>,
) {
    let ResizedReplicaSet { set, size } = wanted;
    let before = count(set, "/spec/replicas");
    let mut changed = (*set).clone();
    fields::set(&mut changed, &["spec", "replicas"], *size);
    annotate(&mut changed, bounds, revision.unwrap_or_else(|| self::revision(set)));
    if changed == **set {
        return;
    }
    plan.write(ObjectWrite::Update(Kind::ReplicaSet, changed));
    if *size != before {
        let direction = if *size > before { "up" } else { "down" };
        plan.record(deployment, SOURCE, "ScalingReplicaSet", scaled(direction, name(set), before, *size));
    }
}

fn annotate(set: &mut Value, bounds: RolloutBounds, revision: i64) {
    fields::set(set, &["metadata", "annotations", DESIRED], bounds.replicas.to_string());
    fields::set(set, &["metadata", "annotations", MAXIMUM], bounds.most.to_string());
    fields::set(set, &["metadata", "annotations", REVISION], revision.to_string());
}

fn set_revision(plan: &mut Plan, deployment: &Value, revision: i64) {
    if annotation(deployment, REVISION) != revision.to_string() {
        let mut deployment = deployment.clone();
        fields::set(&mut deployment, &["metadata", "annotations", REVISION], revision.to_string());
        plan.write(ObjectWrite::Update(Kind::Deployment, deployment));
    }
}

/// Annotations that ReplicaSets inherit: those of the deployment, except the ones about the deployment itself.
fn inherited(deployment: &Value) -> Value {
    let mut annotations = deployment["metadata"]["annotations"].clone();
    if let Some(map) = annotations.as_object_mut() {
        map.remove(APPLIED);
        map.remove(REVISION);
    }
    annotations
}

/// Deletes the oldest empty ReplicaSets.
fn forget(plan: &mut Plan, deployment: &Value, old: &[&Value]) {
    let limit = number(deployment, "/spec/revisionHistoryLimit").unwrap_or(10);
    let idle: Vec<_> = old
        .iter()
        .filter(|set| count(set, "/spec/replicas") == 0 && count(set, "/status/replicas") == 0)
        .collect();
    let surplus = idle.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    for set in idle.into_iter().take(surplus) {
        plan.delete(Kind::ReplicaSet, set);
    }
}

fn scaled(direction: &str, set: &str, before: i64, size: i64) -> String {
    format!("Scaled {direction} replica set {set} from {before} to {size}")
}

// === impl RolloutBounds ===

impl RolloutBounds {
    fn of(deployment: &Value) -> Self {
        let replicas = number(deployment, "/spec/replicas").unwrap_or(1);
        let rolling = "/spec/strategy/rollingUpdate";
        let bound = |name: &str, round| {
            share(deployment.pointer(&format!("{rolling}/{name}")), replicas, "25%", round)
        };
        let (surge, unavailable) = match text(deployment, "/spec/strategy/type") {
            "Recreate" => (0, replicas),
            _ => (bound("maxSurge", Rounding::Up), bound("maxUnavailable", Rounding::Down)),
        };
        // With both zero, no rollout could progress.
        let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable.min(replicas) };
        Self { replicas, most: replicas + surge, least_available: replicas - unavailable }
    }
}

// === impl ResizedReplicaSet ===

impl<'a> ResizedReplicaSet<'a> {
    fn new(set: &'a Value) -> Self {
        Self { set, size: count(set, "/spec/replicas") }
    }
}

#[cfg(test)]
mod tests;
