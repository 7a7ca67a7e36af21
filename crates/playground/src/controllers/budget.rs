//! PodDisruptionBudgets: number of pods that may be evicted now.

use serde_json::{Value, json};

use super::{
    fields::{Rounding, count, is_deleted, is_ready, share, text},
    reconcile::{Kind, Plan, ReconcileContext, condition},
};
use crate::selector::structured_matches;

/// Updates the budget's status. `pods` are those of the budget's namespace.
pub(super) fn decide(budget: &Value, pods: &[Value], context: &ReconcileContext<'_>) -> Plan {
    let mut plan = Plan::default();
    if is_deleted(budget) {
        return plan;
    }
    // A terminating pod counts as expected until it is removed, so that its replacement does not look like a surplus.
    let expected: Vec<_> = pods
        .iter()
        .filter(|pod| covers(budget, &pod["metadata"]["labels"]))
        .filter(|pod| !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed"))
        .collect();
    let all = size(expected.len());
    let healthy = size(expected.iter().filter(|pod| !is_deleted(pod) && is_ready(pod)).count());
    let wanted = match budget.pointer("/spec/maxUnavailable") {
        Some(most) => (all - share(Some(most), all, "0", Rounding::Up)).max(0),
        None => share(budget.pointer("/spec/minAvailable"), all, "1", Rounding::Up),
    };
    let allowed = if all == 0 { 0 } else { healthy.saturating_sub(wanted).max(0) };
    let generation = count(budget, "/metadata/generation");
    let reason = if allowed > 0 { "SufficientPods" } else { "InsufficientPods" };
    let mut told = condition(budget, &context.stamp(), "DisruptionAllowed", allowed > 0, (reason, ""));
    told["observedGeneration"] = generation.into();
    let status = json!({
        "conditions": [told],
        "currentHealthy": healthy,
        "desiredHealthy": wanted,
        "disruptionsAllowed": allowed,
        "expectedPods": all,
        "observedGeneration": generation,
    });
    plan.status(Kind::PodDisruptionBudget, budget, status);
    plan
}

/// Whether the budget selects a pod with these labels.
pub(super) fn covers(budget: &Value, labels: &Value) -> bool {
    let selector = &budget["spec"]["selector"];
    !selector.is_null() && structured_matches(selector, labels)
}

fn size(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::controllers::reconcile::{ObjectWrite, Timing};

    fn allowed(spec: &Value, ready: &[bool]) -> Value {
        let pod = |ready: &bool| {
            let ready = if *ready { "True" } else { "False" };
            json!({
                "metadata": { "labels": { "app": "web" } },
                "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": ready }] },
            })
        };
        let mut budget = json!({ "metadata": { "name": "web", "generation": 1 }, "spec": spec });
        budget["spec"]["selector"] = json!({ "matchLabels": { "app": "web" } });
        let pods: Vec<_> = ready.iter().map(pod).collect();
        let mut rng = fastrand::Rng::with_seed(1);
        let context = ReconcileContext {
            now: Timestamp::UNIX_EPOCH,
            timing: Timing::FAST,
            rng: &mut rng,
            pod_budget: 0,
        };
        match decide(&budget, &pods, &context).writes.pop() {
            Some(ObjectWrite::Status(_, budget)) => budget["status"]["disruptionsAllowed"].clone(),
            other => panic!("no status: {other:?}"),
        }
    }

    #[test]
    fn as_many_may_go_as_the_budget_leaves() {
        for (spec, ready, wanted) in [
            (json!({ "minAvailable": 1 }), vec![true], 0),
            (json!({ "minAvailable": 1 }), vec![true, true, true], 2),
            (json!({ "minAvailable": "50%" }), vec![true, true, true], 1),
            (json!({ "maxUnavailable": 1 }), vec![true, true, true], 1),
            (json!({ "maxUnavailable": 1 }), vec![true, false, true], 0),
            (json!({ "maxUnavailable": 1 }), vec![], 0),
        ] {
            assert_eq!(allowed(&spec, &ready), wanted, "{spec} {ready:?}");
        }
    }
}
