//! ReplicaSets: keep the wanted number of pods.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    fields::{self, count, is_active, is_deleted, is_ready, name, namespace, number, text},
    reconcile::{Kind, ObjectWrite, Plan, ReconcileContext, owner, pod_of},
};

const SOURCE: &str = "replicaset-controller";

pub(super) fn decide(set: &Value, pods: &[Value], context: &mut ReconcileContext<'_>) -> Plan {
    let mut plan = Plan::default();
    if is_deleted(set) {
        return plan;
    }
    let active: Vec<_> = pods.iter().filter(|pod| is_active(pod)).collect();
    let wanted = usize::try_from(number(set, "/spec/replicas").unwrap_or(1)).unwrap_or(0);
    for _ in 0..context.claim(wanted.saturating_sub(active.len()), &mut plan) {
        let pod_name = format!("{}-{}", name(set), context.suffix());
        plan.record(set, SOURCE, "SuccessfulCreate", format!("Created pod: {pod_name}"));
        let mut pod =
            pod_of(&set["spec"]["template"], namespace(set), pod_name, owner(Kind::ReplicaSet, set));
        fields::set(&mut pod, &["metadata", "generateName"], format!("{}-", name(set)));
        plan.write(ObjectWrite::Create(Kind::Pod, pod));
    }
    let mut victims = active.clone();
    victims.sort_by_key(|pod| std::cmp::Reverse(worth_keeping(pod)));
    for pod in victims.into_iter().skip(wanted) {
        plan.record(set, SOURCE, "SuccessfulDelete", format!("Deleted pod: {}", name(pod)));
        plan.delete(Kind::Pod, pod);
    }
    let delay = Duration::from_secs(count(set, "/spec/minReadySeconds").unsigned_abs());
    let mut available = 0;
    for pod in active.iter().filter(|pod| is_ready(pod)) {
        match until_available(pod, delay, context.now) {
            None => available += 1,
            Some(left) => plan.later(left),
        }
    }
    let ready = active.iter().filter(|pod| is_ready(pod)).count();
    let mut status = json!({
        "replicas": active.len(),
        "observedGeneration": number(set, "/metadata/generation").unwrap_or(1),
    });
    for (field, value) in
        [("fullyLabeledReplicas", active.len()), ("readyReplicas", ready), ("availableReplicas", available)]
    {
        if value > 0 {
            fields::set(&mut status, &[field], value);
        }
    }
    plan.status(Kind::ReplicaSet, set, status);
    plan
}

/// Sort key for scaling down: bound, running, ready and old pods are kept first.
fn worth_keeping(pod: &Value) -> (bool, bool, bool, std::cmp::Reverse<String>) {
    (
        !text(pod, "/spec/nodeName").is_empty(),
        text(pod, "/status/phase") == "Running",
        is_ready(pod),
        std::cmp::Reverse(text(pod, "/metadata/creationTimestamp").to_owned()),
    )
}

/// Remaining time for which a ready pod must stay ready to count as available.
pub(super) fn until_available(pod: &Value, delay: Duration, now: Timestamp) -> Option<Duration> {
    if delay.is_zero() {
        return None;
    }
    let since =
        fields::condition(pod, "Ready").and_then(|ready| fields::time(ready, "/lastTransitionTime"))?;
    let passed = now.as_second() - since.as_second();
    delay.checked_sub(Duration::from_secs(u64::try_from(passed).unwrap_or(0))).filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::reconcile::Timing;

    fn decided(wanted: i64, pods: &[Value]) -> Plan {
        let set = json!({
            "metadata": { "name": "web-1", "namespace": "shop", "uid": "s" },
            "spec": { "replicas": wanted, "template": { "metadata": { "labels": { "a": "b" } }, "spec": {} } },
        });
        let mut rng = fastrand::Rng::with_seed(1);
        decide(
            &set,
            pods,
            &mut ReconcileContext {
                now: Timestamp::UNIX_EPOCH,
                timing: Timing::FAST,
                rng: &mut rng,
                pod_budget: 500,
            },
        )
    }

    fn pod(name: &str, ready: bool) -> Value {
        let ready = if ready { "True" } else { "False" };
        json!({
            "metadata": { "name": name, "namespace": "shop" },
            "spec": { "nodeName": "n" },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": ready }] },
        })
    }

    #[test]
    fn missing_pods_are_created_with_names_of_their_own() {
        let plan = decided(3, &[pod("a", true)]);
        let names: Vec<_> = plan
            .writes
            .iter()
            .filter_map(|write| match write {
                ObjectWrite::Create(Kind::Pod, pod) => Some(name(pod).to_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(names.len(), 2);
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn no_number_of_replicas_is_too_much_for_a_turn() {
        let plan = decided(i64::from(i32::MAX), &[]);
        let created =
            plan.writes.iter().filter(|write| matches!(write, ObjectWrite::Create(Kind::Pod, _))).count();
        assert_eq!(created, 500);
        assert!(plan.again.is_some(), "the rest is looked at later");
    }

    #[test]
    fn the_pod_that_is_not_ready_goes_first() {
        let plan = decided(1, &[pod("a", false), pod("b", true)]);
        let gone = ObjectWrite::Delete { kind: Kind::Pod, namespace: "shop".into(), name: "a".into() };
        assert!(plan.writes.contains(&gone), "{plan:?}");
    }

    #[test]
    fn pods_that_are_on_their_way_out_do_not_count() {
        let mut going = pod("a", true);
        fields::set(&mut going, &["metadata", "deletionTimestamp"], "2026-01-01T00:00:00Z");
        let plan = decided(1, &[going]);
        assert!(plan.writes.iter().any(|write| matches!(write, ObjectWrite::Create(Kind::Pod, _))));
    }
}
