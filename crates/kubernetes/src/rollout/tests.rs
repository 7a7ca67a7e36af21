use serde_json::{Value, json};

use super::*;

fn deployment(status: &Value) -> Value {
    json!({
        "metadata": { "name": "web", "uid": "d", "generation": 2, "annotations": {
            "deployment.kubernetes.io/revision": "3", "team": "new",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        } },
        "spec": { "replicas": 3, "template": template("3", None) },
        "status": status,
    })
}

fn template(image: &str, hash: Option<&str>) -> Value {
    let mut template = json!({
        "metadata": { "labels": { "app": "web" }, "creationTimestamp": null },
        "spec": { "containers": [{ "name": "web", "image": image, "volumes": [{ "emptyDir": {} }] }] },
    });
    if let Some(hash) = hash {
        template["metadata"]["labels"]["pod-template-hash"] = hash.into();
    }
    template
}

fn replica_set(revision: &str, owner: &str) -> Value {
    json!({
        "metadata": {
            "name": format!("web-{revision}"),
            "annotations": { "deployment.kubernetes.io/revision": revision, "team": "old", "kubernetes.io/change-cause": "because" },
            "ownerReferences": [{ "controller": true, "uid": owner }],
        },
        "spec": { "template": template(revision, Some("abc")) },
    })
}

fn message(workload: Workload, object: &Value) -> String {
    match progress(workload, object) {
        Ok(Progress { message, done: false }) => message,
        Ok(Progress { message, done: true }) => format!("done: {message}"),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn the_progress_of_a_deployment_has_the_messages_of_kubectl() {
    for (status, expected) in [
        (json!({ "observedGeneration": 1 }), "Waiting for deployment spec update to be observed..."),
        (
            json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 1 }),
            r#"Waiting for deployment "web" rollout to finish: 1 out of 3 new replicas have been updated..."#,
        ),
        (
            json!({ "observedGeneration": 2, "replicas": 4, "updatedReplicas": 3 }),
            r#"Waiting for deployment "web" rollout to finish: 1 old replicas are pending termination..."#,
        ),
        (
            json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 2 }),
            r#"Waiting for deployment "web" rollout to finish: 2 of 3 updated replicas are available..."#,
        ),
        (
            json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "availableReplicas": 3 }),
            r#"done: deployment "web" successfully rolled out"#,
        ),
        (
            json!({ "observedGeneration": 2, "conditions": [{ "type": "Progressing", "reason": "ProgressDeadlineExceeded" }] }),
            r#"error: deployment "web" exceeded its progress deadline"#,
        ),
    ] {
        assert_eq!(message(Workload::Deployment, &deployment(&status)), expected);
    }
}

#[test]
fn the_progress_of_other_workloads_has_the_messages_of_kubectl() {
    let daemon_set = |status: Value| json!({ "metadata": { "name": "log", "generation": 1 }, "spec": { "updateStrategy": { "type": "RollingUpdate" } }, "status": status });
    for (status, expected) in [
        (json!({}), "Waiting for daemon set spec update to be observed..."),
        (
            json!({ "observedGeneration": 1, "desiredNumberScheduled": 2 }),
            r#"Waiting for daemon set "log" rollout to finish: 0 out of 2 new pods have been updated..."#,
        ),
        (
            json!({ "observedGeneration": 1, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2 }),
            r#"Waiting for daemon set "log" rollout to finish: 0 of 2 updated pods are available..."#,
        ),
        (json!({ "observedGeneration": 1 }), r#"done: daemon set "log" successfully rolled out"#),
    ] {
        assert_eq!(message(Workload::DaemonSet, &daemon_set(status)), expected);
    }
    let stateful_set = |strategy: Value, status: Value| json!({ "metadata": { "name": "db", "generation": 1 }, "spec": { "replicas": 3, "updateStrategy": strategy }, "status": status });
    let rolling = || json!({ "type": "RollingUpdate" });
    for (strategy, status, expected) in [
        (
            json!({ "type": "OnDelete" }),
            json!({}),
            "error: rollout status is only available for RollingUpdate strategy type",
        ),
        (rolling(), json!({}), "Waiting for statefulset spec update to be observed..."),
        (
            rolling(),
            json!({ "observedGeneration": 1, "readyReplicas": 1 }),
            "Waiting for 2 pods to be ready...",
        ),
        (
            rolling(),
            json!({ "observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 1, "updateRevision": "b", "currentRevision": "a" }),
            "waiting for statefulset rolling update to complete 1 pods at revision b...",
        ),
        (
            rolling(),
            json!({ "observedGeneration": 1, "readyReplicas": 3, "currentReplicas": 3, "updateRevision": "b", "currentRevision": "b" }),
            "done: statefulset rolling update complete 3 pods at revision b...",
        ),
        (
            json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": 1 } }),
            json!({ "observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 1 }),
            "Waiting for partitioned roll out to finish: 1 out of 2 new pods have been updated...",
        ),
        (
            json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": 1 } }),
            json!({ "observedGeneration": 1, "readyReplicas": 3, "updatedReplicas": 2 }),
            "done: partitioned roll out complete: 2 new pods have been updated...",
        ),
    ] {
        assert_eq!(message(Workload::StatefulSet, &stateful_set(strategy, status)), expected);
    }
}

#[test]
fn revisions_are_those_that_the_workload_controls() {
    let deployment = deployment(&json!({}));
    let found =
        vec![replica_set("3", "d"), replica_set("10", "d"), replica_set("2", "d"), replica_set("4", "other")];
    let revisions = revisions(Workload::Deployment, &deployment, found);
    let numbers: Vec<_> = revisions.iter().map(|revision| revision.number).collect();
    assert_eq!(numbers, [2, 3, 10]);
    assert_eq!(revisions[0].change_cause.as_deref(), Some("because"));
    let find = |wanted| {
        find_revision(Workload::Deployment, &deployment, &revisions, wanted).map(|found| found.number)
    };
    assert_eq!(find(2), Ok(2));
    assert_eq!(find(0), Ok(3), "the one before the newest");
    assert_eq!(find(4), Err("unable to find specified revision 4 in history".into()));
    let none = find_revision(Workload::Deployment, &deployment, &revisions[..1], 0).unwrap_err();
    assert_eq!(none, r#"no rollout history found for deployment "web""#);
}

#[test]
fn undo_restores_the_template_and_keeps_annotations_of_the_deployment() {
    let mut deployment = deployment(&json!({}));
    let revisions =
        revisions(Workload::Deployment, &deployment, vec![replica_set("2", "d"), replica_set("3", "d")]);
    assert_eq!(undo(Workload::Deployment, &deployment, &revisions[1]), Ok(Undo::Nothing), "but for the hash");
    let Ok(Undo::JsonPatch(patch)) = undo(Workload::Deployment, &deployment, &revisions[0]) else {
        panic!("a patch")
    };
    assert_eq!(patch[0]["value"], template("2", None));
    assert_eq!(
        patch[1]["value"],
        json!({
            "deployment.kubernetes.io/revision": "3", "team": "old", "kubernetes.io/change-cause": "because",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        })
    );
    deployment["spec"]["paused"] = true.into();
    let refused = undo(Workload::Deployment, &deployment, &revisions[0]).unwrap_err();
    assert!(refused.starts_with("you cannot rollback a paused deployment"), "{refused}");
}

#[test]
fn a_controller_revision_is_its_own_patch() {
    let daemon_set = json!({ "metadata": { "uid": "s" }, "spec": { "template": template("2", None) } });
    let kept = |number: i64, image: &str| {
        let mut template = template(image, None);
        template["$patch"] = "replace".into();
        json!({
            "metadata": { "ownerReferences": [{ "controller": true, "uid": "s" }] },
            "revision": number, "data": { "spec": { "template": template } },
        })
    };
    let revisions = revisions(Workload::DaemonSet, &daemon_set, vec![kept(2, "2"), kept(1, "1")]);
    assert_eq!(revisions[0].template, template("1", None), "without the directive");
    assert_eq!(undo(Workload::DaemonSet, &daemon_set, &revisions[1]), Ok(Undo::Nothing));
    let expected = Undo::StrategicMergePatch(kept(1, "1")["data"].clone());
    assert_eq!(undo(Workload::DaemonSet, &daemon_set, &revisions[0]), Ok(expected));
}

#[test]
fn selectors_are_written_for_queries() {
    let selector = json!({
        "matchLabels": { "app": "web", "tier": "front" },
        "matchExpressions": [
            { "key": "env", "operator": "In", "values": ["a", "b"] },
            { "key": "old", "operator": "DoesNotExist" },
        ],
    });
    assert_eq!(selector_text(&selector).as_deref(), Some("app=web,tier=front,env in (a,b),!old"));
    assert_eq!(selector_text(&json!({ "app": "web" })).as_deref(), Some("app=web"), "a Service's");
    assert_eq!(selector_text(&json!({})), None);
    assert_eq!(selector_text(&Value::Null), None);
}
