//! Answers that would break Orca break its player.

use std::time::Duration;

use serde_json::{Value, json};
use spindrift_tests::spinnaker::{Execution, Orca, Pace, RecordedClouddriver, StageSpec, Status};

const MANIFEST: &str = "/manifests/account1/default/replicaSet%20web-v000";

/// A Clouddriver that completes every task with these results.
async fn clouddriver(results: Value) -> RecordedClouddriver {
    let clouddriver = RecordedClouddriver::knowing(&[]).await.unwrap();
    clouddriver.answer("POST", "/kubernetes/ops", 200, json!({ "id": "one" }));
    clouddriver.answer("GET", "/task/one", 200, task(results));
    clouddriver
}

fn task(results: Value) -> Value {
    let status = json!({ "completed": true, "failed": false, "retryable": false });
    json!({ "id": "one", "status": status, "history": [], "resultObjects": results, "outputs": [] })
}

fn shown(manifest: Value) -> Value {
    json!({
        "manifest": manifest, "artifacts": [], "events": [], "warnings": [],
        "status": { "stable": { "state": true }, "failed": { "state": false } },
    })
}

async fn run(clouddriver: &RecordedClouddriver, kind: &str, context: Value) -> Execution {
    // Long enough for a second look, even where looking takes long.
    let timeout = Duration::from_secs(3);
    let pace = Pace { stable_timeout: timeout, task_timeout: timeout, ..Pace::QUICK };
    let mut stage = json!({ "account": "account1", "cloudProvider": "kubernetes", "location": "default" });
    stage.as_object_mut().unwrap().extend(context.as_object().unwrap().clone());
    Orca::new(clouddriver.url(), "shop", pace).run([StageSpec::new(kind, stage)]).await
}

fn thrown(execution: &Execution) -> &str {
    let failed = execution.stages.iter().find(|stage| stage.status == Status::Terminal).unwrap();
    failed.context["exception"]["exceptionType"].as_str().unwrap()
}

async fn scale(manifest_answer: (u16, Value)) -> Execution {
    let clouddriver = clouddriver(json!([])).await;
    clouddriver.answer("GET", MANIFEST, manifest_answer.0, manifest_answer.1);
    run(&clouddriver, "scaleManifest", json!({ "manifestName": "replicaSet web-v000", "replicas": 1 })).await
}

#[tokio::test]
async fn a_null_in_a_manifest_is_a_null_pointer() {
    assert_eq!(scale((200, shown(json!({ "kind": "ReplicaSet" })))).await.status, Status::Succeeded);
    let execution = scale((200, shown(json!({ "kind": "ReplicaSet", "status": null })))).await;
    assert_eq!(thrown(&execution), "NullPointerException");
}

#[tokio::test]
async fn warnings_must_be_texts() {
    let mut answer = shown(json!({}));
    answer["warnings"] = json!([{ "message": "no text" }]);
    assert_eq!(thrown(&scale((200, answer)).await), "ClassCastException");
}

#[tokio::test]
async fn a_manifest_that_cannot_be_read_is_waited_for_until_the_time_is_up() {
    for status in [404, 500] {
        assert_eq!(thrown(&scale((status, json!({}))).await), "TimeoutException");
    }
}

#[tokio::test]
async fn a_manifest_that_has_failed_ends_the_stage() {
    let mut answer = shown(json!({}));
    answer["status"] = json!({ "failed": { "state": true, "message": "exceeded its progress deadline" } });
    let execution = scale((200, answer)).await;
    assert_eq!(execution.status, Status::Terminal);
    assert!(execution.failure().unwrap().contains("exceeded its progress deadline"));
}

#[tokio::test]
async fn counts_of_an_old_replica_set_must_be_doubles() {
    for (ready, class) in [(json!(1.0), None), (json!(1), Some("ClassCastException"))] {
        let new = json!({ "kind": "ReplicaSet", "metadata": {
            "name": "web-v001", "namespace": "default",
            "annotations": { "moniker.spinnaker.io/cluster": "replicaSet web" },
        } });
        let names = json!({ "default": ["replicaSet web-v000"] });
        let clouddriver =
            clouddriver(json!([{ "manifests": [new], "manifestNamesByNamespace": names }])).await;
        let status = json!({ "readyReplicas": ready, "availableReplicas": ready });
        clouddriver.answer("GET", MANIFEST, 200, shown(json!({ "status": status })));
        let cluster = json!([{ "kind": "replicaSet", "name": "web-v000" }, { "kind": "replicaSet", "name": "web-v001" }]);
        clouddriver.answer(
            "GET",
            "/manifests/account1/default/replicaSet/cluster/shop/replicaSet%20web",
            200,
            cluster,
        );
        let traffic = json!({ "enabled": true, "options": { "strategy": "redblack" } });
        let context =
            json!({ "manifests": [{}], "moniker": { "app": "shop" }, "trafficManagement": traffic });

        let execution = run(&clouddriver, "deployManifest", context).await;

        match class {
            None => assert_eq!(execution.stages[1].kind, "disableManifest"),
            Some(class) => assert_eq!(thrown(&execution), class),
        }
    }
}

#[tokio::test]
async fn a_deployment_without_results_is_polled_until_the_time_is_up() {
    let clouddriver = clouddriver(json!([])).await;
    let context = json!({ "manifests": [{}], "moniker": { "app": "shop" } });
    let execution = run(&clouddriver, "deployManifest", context).await;
    assert_eq!(thrown(&execution), "TimeoutException");
    assert!(execution.calls.iter().filter(|call| call.path == "/task/one").count() > 1);
}

#[tokio::test]
async fn a_deployment_without_manifests_in_its_result_is_a_null_pointer() {
    let clouddriver = clouddriver(json!([{ "manifestNamesByNamespace": {} }])).await;
    let context = json!({ "manifests": [{}], "moniker": { "app": "shop" } });
    assert_eq!(thrown(&run(&clouddriver, "deployManifest", context).await), "NullPointerException");
}

#[tokio::test]
async fn a_refusal_is_tried_three_times_unless_it_is_the_requests_fault() {
    for (status, times) in [(500, 3), (400, 1), (404, 1)] {
        let clouddriver = RecordedClouddriver::knowing(&[]).await.unwrap();
        clouddriver.answer("POST", "/kubernetes/ops", status, json!({ "message": "no", "error": "No" }));
        let execution =
            run(&clouddriver, "pauseRolloutManifest", json!({ "manifestName": "deployment web" })).await;
        assert_eq!(thrown(&execution), "SpinnakerHttpException");
        let ids: Vec<_> = clouddriver.received().into_iter().map(|request| request.path).collect();
        assert_eq!(ids.len(), times, "{status}");
        assert!(ids.iter().all(|id| *id == ids[0]), "every attempt has the same id");
    }
}

#[tokio::test]
async fn an_overloaded_clouddriver_is_asked_again_until_the_time_is_up() {
    let clouddriver = RecordedClouddriver::knowing(&[]).await.unwrap();
    clouddriver.answer("POST", "/kubernetes/ops", 503, json!({}));
    let execution =
        run(&clouddriver, "pauseRolloutManifest", json!({ "manifestName": "deployment web" })).await;
    assert_eq!(thrown(&execution), "TimeoutException");
    assert!(clouddriver.received().len() > 3);
}

#[tokio::test]
async fn a_target_that_is_not_there_ends_the_stage_at_once() {
    let clouddriver = RecordedClouddriver::knowing(&[]).await.unwrap();
    let context = json!({
        "mode": "dynamic", "kind": "replicaSet", "app": "shop", "cluster": "replicaSet web", "criteria": "newest",
    });
    let execution = run(&clouddriver, "deleteManifest", context).await;
    assert_eq!((thrown(&execution), execution.calls.len()), ("SpinnakerHttpException", 1));
}
