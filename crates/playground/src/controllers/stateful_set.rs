//! StatefulSets: pods with ordinals, started in order, replaced from the last to the first.

use serde_json::{Value, json};

use super::{
    fields::{self, count, is_active, is_deleted, is_ready, label, list, name, namespace, number, text},
    reconcile::{Kind, ObjectWrite, Plan, ReconcileContext, owner, pod_of, template_hash},
};

const SOURCE: &str = "statefulset-controller";
const REVISION: &str = "controller-revision-hash";

pub(super) fn decide(set: &Value, pods: &[Value], context: &mut ReconcileContext<'_>) -> Plan {
    let mut plan = Plan::default();
    if is_deleted(set) {
        return plan;
    }
    let revision = format!("{}-{}", name(set), template_hash(&set["spec"]["template"]));
    let mut pods: Vec<_> = pods.iter().filter_map(|pod| Some((ordinal(set, pod)?, pod))).collect();
    pods.sort_by_key(|(ordinal, _)| *ordinal);
    let replicas = number(set, "/spec/replicas").unwrap_or(1);

    if !fill(&mut plan, set, &pods, &revision, context) && !shrink(&mut plan, set, &pods, replicas) {
        renew(&mut plan, set, &pods, &revision);
    }
    status(&mut plan, set, &pods, &revision);
    plan
}

fn is_ordered(set: &Value) -> bool {
    text(set, "/spec/podManagementPolicy") != "Parallel"
}

fn ordinal(set: &Value, pod: &Value) -> Option<i64> {
    name(pod).strip_prefix(name(set))?.strip_prefix('-')?.parse().ok()
}

/// Creates missing pods: the first gap, or all with parallel pod management. Returns whether to wait.
fn fill(
    plan: &mut Plan,
    set: &Value,
    pods: &[(i64, &Value)],
    revision: &str,
    context: &mut ReconcileContext<'_>,
) -> bool {
    let ordered = is_ordered(set);
    let mut waits = false;
    for wanted in 0..number(set, "/spec/replicas").unwrap_or(1) {
        match pods.iter().find(|(ordinal, _)| *ordinal == wanted) {
            // A name can be reused only after the previous pod of that name is removed.
            Some((_, pod)) if !is_active(pod) || !is_ready(pod) => {
                if !is_deleted(pod) && !is_active(pod) {
                    plan.delete(Kind::Pod, pod);
                }
                waits = true;
            }
            Some(_) => {}
            None if context.claim(1, plan) == 0 => return true,
            None => {
                create(plan, set, wanted, revision);
                waits = true;
            }
        }
        if waits && ordered {
            return true;
        }
    }
    waits
}

fn create(plan: &mut Plan, set: &Value, ordinal: i64, revision: &str) {
    let pod_name = format!("{}-{ordinal}", name(set));
    let mut pod =
        pod_of(&set["spec"]["template"], namespace(set), pod_name.clone(), owner(Kind::StatefulSet, set));
    for (label, value) in [
        (REVISION, revision.to_owned()),
        ("apps.kubernetes.io/pod-index", ordinal.to_string()),
        ("statefulset.kubernetes.io/pod-name", pod_name.clone()),
    ] {
        fields::set(&mut pod, &["metadata", "labels", label], value);
    }
    fields::set(&mut pod, &["metadata", "generateName"], format!("{}-", name(set)));
    fields::set(&mut pod, &["spec", "hostname"], pod_name.as_str());
    let service = text(set, "/spec/serviceName");
    if !service.is_empty() {
        fields::set(&mut pod, &["spec", "subdomain"], service);
    }
    let mut volumes = list(&pod, "/spec/volumes").to_vec();
    for template in list(set, "/spec/volumeClaimTemplates") {
        let claim = format!("{}-{pod_name}", name(template));
        volumes.push(json!({ "name": name(template), "persistentVolumeClaim": { "claimName": claim } }));
        plan.write(ObjectWrite::Create(Kind::PersistentVolumeClaim, claim_of(set, template, &claim)));
    }
    if !volumes.is_empty() {
        fields::set(&mut pod, &["spec", "volumes"], volumes);
    }
    let told = format!("create Pod {pod_name} in StatefulSet {} successful", name(set));
    plan.record(set, SOURCE, "SuccessfulCreate", told);
    plan.write(ObjectWrite::Create(Kind::Pod, pod));
}

/// Creates the claim of a pod. Without an owner it outlives the pod and is reused by the next one.
fn claim_of(set: &Value, template: &Value, claim: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": claim, "namespace": namespace(set), "labels": set["spec"]["selector"]["matchLabels"] },
        "spec": template["spec"],
        "status": {
            "phase": "Bound",
            "accessModes": template["spec"]["accessModes"],
            "capacity": template["spec"]["resources"]["requests"],
        },
    })
}

/// Deletes the last surplus pod. Returns whether there was one.
fn shrink(plan: &mut Plan, set: &Value, pods: &[(i64, &Value)], replicas: i64) -> bool {
    let ordered = is_ordered(set);
    let surplus: Vec<_> = pods.iter().rev().filter(|(ordinal, _)| *ordinal >= replicas).collect();
    for (_, pod) in &surplus {
        if is_deleted(pod) {
            if ordered {
                break;
            }
            continue;
        }
        let told = format!("delete Pod {} in StatefulSet {} successful", name(pod), name(set));
        plan.record(set, SOURCE, "SuccessfulDelete", told);
        plan.delete(Kind::Pod, pod);
        if ordered {
            break;
        }
    }
    !surplus.is_empty()
}

/// Replaces the last pod of an older template, down to the partition.
fn renew(plan: &mut Plan, set: &Value, pods: &[(i64, &Value)], revision: &str) {
    if text(set, "/spec/updateStrategy/type") == "OnDelete" {
        return;
    }
    let partition = count(set, "/spec/updateStrategy/rollingUpdate/partition");
    let old = pods.iter().rev().find(|(at, pod)| *at >= partition && label(pod, REVISION) != revision);
    if let Some((_, pod)) = old.filter(|(_, pod)| !is_deleted(pod)) {
        plan.delete(Kind::Pod, pod);
    }
}

fn status(plan: &mut Plan, set: &Value, pods: &[(i64, &Value)], revision: &str) {
    let active: Vec<_> = pods.iter().map(|(_, pod)| *pod).filter(|pod| is_active(pod)).collect();
    let ready = active.iter().filter(|pod| is_ready(pod)).count();
    let updated = active.iter().filter(|pod| label(pod, REVISION) == revision).count();
    let told = text(set, "/status/currentRevision");
    let complete = updated == active.len() && ready == active.len();
    let current = if complete || told.is_empty() { revision } else { told };
    let of_current = active.iter().filter(|pod| label(pod, REVISION) == current).count();
    let mut status = json!({
        "replicas": active.len(),
        "availableReplicas": ready,
        "observedGeneration": number(set, "/metadata/generation").unwrap_or(1),
        "currentRevision": current,
        "updateRevision": revision,
        "collisionCount": 0,
    });
    for (field, value) in
        [("readyReplicas", ready), ("updatedReplicas", updated), ("currentReplicas", of_current)]
    {
        if value > 0 {
            fields::set(&mut status, &[field], value);
        }
    }
    plan.status(Kind::StatefulSet, set, status);
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::controllers::reconcile::Timing;

    fn set(replicas: i64, image: &str) -> Value {
        json!({
            "metadata": { "name": "db", "namespace": "shop", "uid": "s" },
            "spec": {
                "replicas": replicas,
                "serviceName": "db",
                "selector": { "matchLabels": { "app": "db" } },
                "template": { "metadata": { "labels": { "app": "db" } }, "spec": { "containers": [{ "image": image }] } },
                "volumeClaimTemplates": [{ "metadata": { "name": "data" }, "spec": { "accessModes": ["ReadWriteOnce"] } }],
            },
        })
    }

    fn decided(set: &Value, pods: &[Value]) -> Plan {
        let mut rng = fastrand::Rng::with_seed(1);
        decide(
            set,
            pods,
            &mut ReconcileContext {
                now: Timestamp::UNIX_EPOCH,
                timing: Timing::FAST,
                rng: &mut rng,
                pod_budget: 500,
            },
        )
    }

    fn created(plan: &Plan, kind: Kind) -> Vec<Value> {
        let created = |write: &ObjectWrite| match write {
            ObjectWrite::Create(of, object) if *of == kind => Some(object.clone()),
            _ => None,
        };
        plan.writes.iter().filter_map(created).collect()
    }

    /// A running pod, as the set would create it.
    fn pod(set: &Value, ordinal: i64, ready: bool) -> Value {
        let mut plan = Plan::default();
        create(&mut plan, set, ordinal, &format!("db-{}", template_hash(&set["spec"]["template"])));
        let mut pod = created(&plan, Kind::Pod).remove(0);
        let ready = if ready { "True" } else { "False" };
        pod["status"] = json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": ready }] });
        pod
    }

    #[test]
    fn pods_start_in_order_and_have_claims() {
        let set = set(3, "db:1");
        let first = decided(&set, &[]);
        assert_eq!(created(&first, Kind::Pod).iter().map(name).collect::<Vec<_>>(), ["db-0"]);
        assert_eq!(name(&created(&first, Kind::PersistentVolumeClaim)[0]), "data-db-0");
        assert!(
            created(&decided(&set, &[pod(&set, 0, false)]), Kind::Pod).is_empty(),
            "the first is not ready"
        );
        let second = decided(&set, &[pod(&set, 0, true)]);
        assert_eq!(created(&second, Kind::Pod).iter().map(name).collect::<Vec<_>>(), ["db-1"]);
    }

    #[test]
    fn no_number_of_replicas_is_too_much_for_a_turn() {
        let mut many = set(i64::from(i32::MAX), "db:1");
        many["spec"]["podManagementPolicy"] = json!("Parallel");
        let plan = decided(&many, &[]);
        assert_eq!(created(&plan, Kind::Pod).len(), 500);
        assert!(plan.again.is_some(), "the rest is looked at later");
    }

    #[test]
    fn the_last_pod_goes_first_when_there_are_too_many_or_the_template_is_new() {
        let deleted = |plan: &Plan| -> Vec<String> {
            let deleted = |write: &ObjectWrite| match write {
                ObjectWrite::Delete { name, .. } => Some(name.clone()),
                _ => None,
            };
            plan.writes.iter().filter_map(deleted).collect()
        };
        let old = set(2, "db:1");
        let pods = [pod(&old, 0, true), pod(&old, 1, true)];
        assert_eq!(deleted(&decided(&set(1, "db:1"), &pods)), ["db-1"]);
        assert_eq!(deleted(&decided(&set(2, "db:2"), &pods)), ["db-1"]);
        assert!(deleted(&decided(&old, &pods)).is_empty());
    }
}
