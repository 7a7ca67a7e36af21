//! Rollouts, one reconciliation at a time.

use super::*;
use crate::controllers::reconcile::Timing;

fn plan(deployment: &Value, sets: &[Value]) -> Plan {
    let mut rng = fastrand::Rng::with_seed(1);
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    decide(
        deployment,
        sets,
        &mut ReconcileContext { now, timing: Timing::FAST, rng: &mut rng, pod_budget: 500 },
    )
}

fn deployment(replicas: i64, image: &str) -> Value {
    json!({
        "metadata": { "name": "web", "namespace": "shop", "uid": "d", "generation": 1 },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": image }] },
            },
        },
    })
}

/// ReplicaSet that the deployment would create, with this number of pods wanted and available.
fn set(image: &str, revision: i64, wanted: i64, available: i64) -> Value {
    let plan = plan(&deployment(1, image), &[]);
    let Some(ObjectWrite::Create(Kind::ReplicaSet, set)) = plan.writes.into_iter().next() else {
        panic!("no ReplicaSet is created");
    };
    let mut set = set;
    annotate(&mut set, RolloutBounds::of(&deployment(wanted, image)), revision);
    set["spec"]["replicas"] = wanted.into();
    set["status"] = json!({ "replicas": wanted, "readyReplicas": available, "availableReplicas": available });
    set
}

/// Replicas set on each ReplicaSet, by image.
fn sizes(plan: &Plan) -> Vec<(String, i64)> {
    let size = |write: &ObjectWrite| match write {
        ObjectWrite::Create(Kind::ReplicaSet, set) | ObjectWrite::Update(Kind::ReplicaSet, set) => Some((
            text(set, "/spec/template/spec/containers/0/image").to_owned(),
            count(set, "/spec/replicas"),
        )),
        _ => None,
    };
    plan.writes.iter().filter_map(size).collect()
}

#[test]
fn a_new_deployment_gets_one_set_of_full_size() {
    let plan = plan(&deployment(3, "web:1"), &[]);
    assert_eq!(sizes(&plan), [("web:1".to_owned(), 3)]);
    let ObjectWrite::Create(_, set) = &plan.writes[0] else { panic!("{plan:?}") };
    assert_eq!(annotation(set, REVISION), "1");
    assert_eq!(
        set["spec"]["selector"]["matchLabels"][HASH],
        set["spec"]["template"]["metadata"]["labels"][HASH]
    );
}

#[test]
fn a_rollout_surges_first_and_shrinks_when_new_pods_are_available() {
    // Four replicas: at most five, at least three available.
    let next = deployment(4, "web:2");
    let old = set("web:1", 1, 4, 4);
    assert_eq!(sizes(&plan(&next, std::slice::from_ref(&old))), [("web:2".to_owned(), 1)]);
    let plan_two = plan(&next, &[old.clone(), set("web:2", 2, 1, 0)]);
    assert!(sizes(&plan_two).contains(&("web:1".to_owned(), 3)), "one may be unavailable: {plan_two:?}");
    let mut fewer = old.clone();
    fewer["spec"]["replicas"] = 3.into();
    fewer["status"]["availableReplicas"] = 3.into();
    let waiting = plan(&next, &[fewer.clone(), set("web:2", 2, 2, 0)]);
    assert!(
        !sizes(&waiting).iter().any(|(image, _)| image == "web:1"),
        "none may be missing more: {waiting:?}"
    );
    let going = plan(&next, &[fewer, set("web:2", 2, 2, 2)]);
    assert!(sizes(&going).contains(&("web:1".to_owned(), 1)), "{going:?}");
}

#[test]
fn recreate_waits_until_the_old_pods_are_gone() {
    let mut next = deployment(2, "web:2");
    next["spec"]["strategy"] = json!({ "type": "Recreate" });
    let old = set("web:1", 1, 2, 2);
    assert_eq!(sizes(&plan(&next, std::slice::from_ref(&old))), [("web:2".to_owned(), 0)]);
    let new = set("web:2", 2, 0, 0);
    assert_eq!(sizes(&plan(&next, &[old.clone(), new.clone()])).last(), Some(&("web:1".to_owned(), 0)));
    let mut stopping = old;
    stopping["spec"]["replicas"] = 0.into();
    assert!(!sizes(&plan(&next, &[stopping.clone(), new.clone()])).contains(&("web:2".to_owned(), 2)));
    stopping["status"]["replicas"] = 0.into();
    assert!(sizes(&plan(&next, &[stopping, new])).contains(&("web:2".to_owned(), 2)));
}

#[test]
fn a_paused_deployment_scales_and_does_not_roll() {
    let mut paused = deployment(5, "web:2");
    paused["spec"]["paused"] = true.into();
    assert_eq!(sizes(&plan(&paused, &[set("web:1", 1, 2, 2)])), [("web:1".to_owned(), 5)]);
}

#[test]
fn going_back_takes_the_old_set_and_gives_it_the_newest_revision() {
    let back = deployment(2, "web:1");
    let plan = plan(&back, &[set("web:1", 1, 0, 0), set("web:2", 2, 2, 2)]);
    let revisions: Vec<_> = plan
        .writes
        .iter()
        .filter_map(|write| match write {
            ObjectWrite::Update(Kind::ReplicaSet, set) => {
                Some((text(set, "/spec/template/spec/containers/0/image"), revision(set)))
            }
            ObjectWrite::Create(..) => panic!("a set is created though there is one"),
            _ => None,
        })
        .collect();
    assert!(revisions.contains(&("web:1", 3)), "{revisions:?}");
}

#[test]
fn a_finished_rollout_says_so_and_old_sets_are_forgotten() {
    let mut done = deployment(2, "web:9");
    done["spec"]["revisionHistoryLimit"] = 1.into();
    let plan = plan(&done, &[set("web:1", 1, 0, 0), set("web:2", 2, 0, 0), set("web:9", 3, 2, 2)]);
    let deleted: Vec<_> =
        plan.writes.iter().filter(|write| matches!(write, ObjectWrite::Delete { .. })).collect();
    assert_eq!(deleted.len(), 1, "{deleted:?}");
    let Some(ObjectWrite::Status(_, told)) = plan.writes.last() else { panic!("{plan:?}") };
    assert_eq!(count(told, "/status/updatedReplicas"), 2);
    assert_eq!(text(fields::condition(told, "Progressing").unwrap(), "/reason"), "NewReplicaSetAvailable");
    assert!(fields::has_condition(told, "Available"));
}
