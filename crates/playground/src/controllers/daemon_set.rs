//! DaemonSets: one pod on every matching node.

use serde_json::{Value, json};

use super::{
    fields::{self, is_active, is_deleted, is_ready, label, matches, name, namespace, number, text},
    reconcile::{Kind, ObjectWrite, Plan, ReconcileContext, owner, pod_of, template_hash},
};

const SOURCE: &str = "daemonset-controller";
const REVISION: &str = "controller-revision-hash";

pub(super) fn decide(
    set: &Value,
    nodes: &[Value],
    pods: &[Value],
    context: &mut ReconcileContext<'_>,
) -> Plan {
    let mut plan = Plan::default();
    if is_deleted(set) {
        return plan;
    }
    let hash = template_hash(&set["spec"]["template"]);
    let wanted: Vec<_> = nodes.iter().filter(|node| fits(set, node)).map(name).collect();
    let of_node = |node: &str| pods.iter().find(|pod| text(pod, "/spec/nodeName") == node);
    for node in wanted.iter().filter(|node| of_node(node).is_none()) {
        let pod_name = format!("{}-{}", name(set), context.suffix());
        plan.record(set, SOURCE, "SuccessfulCreate", format!("Created pod: {pod_name}"));
        let mut pod = pod_of(&set["spec"]["template"], namespace(set), pod_name, owner(Kind::DaemonSet, set));
        fields::set(&mut pod, &["metadata", "generateName"], format!("{}-", name(set)));
        fields::set(&mut pod, &["metadata", "labels", REVISION], hash.as_str());
        fields::set(&mut pod, &["spec", "nodeName"], *node);
        plan.write(ObjectWrite::Create(Kind::Pod, pod));
    }
    let mut going = wanted.iter().any(|node| of_node(node).is_none())
        || pods.iter().any(|pod| !is_active(pod) || !is_ready(pod));
    for pod in pods.iter().filter(|pod| !is_deleted(pod)) {
        let lost = !wanted.contains(&text(pod, "/spec/nodeName"));
        let old = label(pod, REVISION) != hash && text(set, "/spec/updateStrategy/type") != "OnDelete";
        // Old pods that are not ready are replaced at once, all of them. An old pod that is ready is replaced only while
        // no pod is missing or unready, so one at a time: the default of maxUnavailable.
        if lost || !is_active(pod) || (old && (!going || !is_ready(pod))) {
            going = going || old;
            plan.record(set, SOURCE, "SuccessfulDelete", format!("Deleted pod: {}", name(pod)));
            plan.delete(Kind::Pod, pod);
        }
    }
    status(&mut plan, set, &wanted, pods, &hash);
    plan
}

fn fits(set: &Value, node: &Value) -> bool {
    match set.pointer("/spec/template/spec/nodeSelector") {
        Some(selector) if selector.as_object().is_some_and(|map| !map.is_empty()) => {
            matches(selector, &node["metadata"]["labels"])
        }
        _ => true,
    }
}

fn status(plan: &mut Plan, set: &Value, wanted: &[&str], pods: &[Value], hash: &str) {
    let placed: Vec<_> =
        pods.iter().filter(|pod| is_active(pod) && wanted.contains(&text(pod, "/spec/nodeName"))).collect();
    let ready = placed.iter().filter(|pod| is_ready(pod)).count();
    let updated = placed.iter().filter(|pod| label(pod, REVISION) == hash).count();
    let mut status = json!({
        "currentNumberScheduled": placed.len(),
        "desiredNumberScheduled": wanted.len(),
        "numberMisscheduled": 0,
        "numberReady": ready,
        "observedGeneration": number(set, "/metadata/generation").unwrap_or(1),
    });
    for (field, value) in [
        ("numberAvailable", ready),
        ("numberUnavailable", wanted.len() - ready.min(wanted.len())),
        ("updatedNumberScheduled", updated),
    ] {
        if value > 0 {
            fields::set(&mut status, &[field], value);
        }
    }
    plan.status(Kind::DaemonSet, set, status);
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::controllers::reconcile::Timing;

    #[test]
    fn old_pods_that_are_not_ready_do_not_block_their_replacement() {
        let set = json!({
            "metadata": { "name": "logs", "namespace": "monitoring", "uid": "s" },
            "spec": { "template": { "metadata": {}, "spec": { "containers": [{ "image": "logs:2" }] } } },
        });
        let pod = |node: &str| {
            json!({
                "metadata": { "name": node, "namespace": "monitoring", "labels": { REVISION: "old" } },
                "spec": { "nodeName": node },
                "status": { "phase": "Pending" },
            })
        };
        let nodes = [json!({ "metadata": { "name": "one" } }), json!({ "metadata": { "name": "two" } })];
        let mut rng = fastrand::Rng::with_seed(1);
        let mut context = ReconcileContext {
            now: Timestamp::UNIX_EPOCH,
            timing: Timing::FAST,
            rng: &mut rng,
            pod_budget: 0,
        };
        let plan = decide(&set, &nodes, &[pod("one"), pod("two")], &mut context);
        let gone = plan.writes.iter().filter(|write| matches!(write, ObjectWrite::Delete { .. })).count();
        assert_eq!(gone, 2);
    }

    #[test]
    fn an_old_pod_that_is_ready_stays_while_another_node_has_no_pod() {
        let set = json!({
            "metadata": { "name": "logs", "namespace": "monitoring", "uid": "s" },
            "spec": { "template": { "metadata": {}, "spec": { "containers": [{ "image": "logs:2" }] } } },
        });
        let nodes = ["one", "two"].map(|node| json!({ "metadata": { "name": node } }));
        let pod = json!({
            "metadata": { "name": "two", "namespace": "monitoring", "labels": { REVISION: "old" } },
            "spec": { "nodeName": "two" },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
        });
        let decided = |nodes: &[Value]| {
            let mut rng = fastrand::Rng::with_seed(1);
            let (now, timing) = (Timestamp::UNIX_EPOCH, Timing::FAST);
            let mut context = ReconcileContext { now, timing, rng: &mut rng, pod_budget: 0 };
            let plan = decide(&set, nodes, std::slice::from_ref(&pod), &mut context);
            let is_delete = |write: &&ObjectWrite| matches!(write, ObjectWrite::Delete { .. });
            plan.writes.iter().filter(is_delete).count()
        };
        assert_eq!(decided(&nodes), 0);
        assert_eq!(decided(&nodes[1..]), 1);
    }

    #[test]
    fn every_node_that_fits_gets_a_pod() {
        let set = json!({
            "metadata": { "name": "logs", "namespace": "monitoring", "uid": "s" },
            "spec": { "template": { "metadata": { "labels": { "app": "logs" } }, "spec": { "nodeSelector": { "disk": "fast" } } } },
        });
        let node =
            |name: &str, disk: &str| json!({ "metadata": { "name": name, "labels": { "disk": disk } } });
        let nodes = [node("one", "fast"), node("two", "slow"), node("three", "fast")];
        let mut rng = fastrand::Rng::with_seed(1);
        let mut context = ReconcileContext {
            now: Timestamp::UNIX_EPOCH,
            timing: Timing::FAST,
            rng: &mut rng,
            pod_budget: 500,
        };
        let plan = decide(&set, &nodes, &[], &mut context);
        let pods: Vec<_> = plan
            .writes
            .iter()
            .filter_map(|write| match write {
                ObjectWrite::Create(Kind::Pod, pod) => Some(text(pod, "/spec/nodeName").to_owned()),
                _ => None,
            })
            .collect();
        assert_eq!(pods, ["one", "three"]);
    }
}
