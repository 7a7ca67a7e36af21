//! Operations on API servers that fail.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use spindrift_model::{ErrorKind, OperationId};
use spindrift_playground::{Cluster, Effect, Fault, Faults, Key, Playground, Verb};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::eventually;

use crate::support::Bench;

struct World {
    bench: Bench,
    cluster: Arc<Cluster>,
    faults: Arc<Faults>,
    _files: tempfile::TempDir,
    _shutdown: Shutdown,
}

async fn world() -> World {
    with_timeout(1).await
}

async fn with_timeout(seconds: u64) -> World {
    let playground = Playground::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let cluster = Cluster::new("faulty");
    playground.add(cluster.clone());
    let shutdown = Shutdown::new();
    playground.start(&shutdown);
    let files = tempfile::tempdir().unwrap();
    let kubeconfig = files.path().join("kubeconfig");
    std::fs::write(&kubeconfig, playground.kubeconfig()).unwrap();
    let agent = json!({ "kubernetes": { "retries": { "backOffMs": 10 } }, "timeoutSeconds": seconds });
    let bench = Bench::with(&kubeconfig, json!({}), agent).await;
    let faults = Faults::before(&cluster);
    World { bench, cluster, faults, _files: files, _shutdown: shutdown }
}

fn config_map() -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one", "namespace": "default" } })
}

fn get() -> Value {
    json!({ "verb": "get", "target": { "apiVersion": "v1", "kind": "ConfigMap", "name": "one" } })
}

fn delete() -> Value {
    json!({ "verb": "delete", "apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "one" })
}

#[tokio::test]
async fn a_read_that_fails_in_a_way_that_passes_is_made_again() {
    let world = world().await;
    world.bench.run(json!({ "verb": "create", "manifest": config_map() })).await.json();
    let busy = Effect::Status { code: 429, retry_after: Some(Duration::from_millis(1)) };
    world.faults.inject(Fault::new(busy).of_resource("configmaps").times(2));
    assert_eq!(world.bench.run(get()).await.json()["metadata"]["name"], "one");
    // Its own words, if it does not pass.
    let broken = Effect::Status { code: 500, retry_after: None };
    world.faults.inject(Fault::new(broken).of_resource("configmaps").times(1));
    assert_eq!(world.bench.run(get()).await.refused().0, 500);
    // Silence for longer than timeoutSeconds is a timeout.
    world.faults.inject(Fault::new(Effect::Freeze).of_resource("configmaps").times(1));
    assert_eq!(world.bench.run(get()).await.json()["metadata"]["name"], "one");
}

#[tokio::test]
async fn a_change_without_an_answer_is_not_retried_and_its_outcome_is_unknown() {
    let world = world().await;
    world.bench.run(json!({ "verb": "create", "manifest": config_map() })).await.json();
    world.faults.inject(Fault::new(Effect::Cut).of_verbs([Verb::Delete]).of_resource("configmaps").times(1));
    let done = world.bench.run(delete()).await;
    let error = done.error();
    assert_eq!(error.kind, ErrorKind::OutcomeUnknown);
    let reason = error.message();
    assert!(reason.contains("DELETE /api/v1/namespaces/default/configmaps/one"), "{reason}");
    assert!(
        world.cluster.get(&Key::new("", "configmaps", "default", "one")).is_some(),
        "it was not tried again"
    );
}

#[tokio::test]
async fn a_change_under_a_precondition_is_made_again() {
    let world = world().await;
    let created = world.bench.run(json!({ "verb": "create", "manifest": config_map() })).await.json();
    let mut guarded = delete();
    guarded["preconditions"] = json!({ "uid": created["object"]["metadata"]["uid"] });
    let freeze = Fault::new(Effect::Freeze).of_verbs([Verb::Delete]).of_resource("configmaps").times(1);
    world.faults.inject(freeze);
    assert_eq!(world.bench.run(guarded).await.json()["deleted"][0]["name"], "one");
}

#[tokio::test]
async fn what_went_while_its_answer_was_lost_was_deleted() {
    let world = world().await;
    let created = world.bench.run(json!({ "verb": "create", "manifest": config_map() })).await.json();
    let mut guarded = delete();
    guarded["preconditions"] = json!({ "uid": created["object"]["metadata"]["uid"] });
    let freeze = Fault::new(Effect::Freeze).of_verbs([Verb::Delete]).of_resource("configmaps").times(1);
    let fault = world.faults.inject(freeze);
    let operation = world.bench.submit(&guarded);
    eventually!("it is being deleted", world.faults.hits(fault) == Some(1));
    world.cluster.delete(&Key::new("", "configmaps", "default", "one")).unwrap();
    assert_eq!(world.bench.answer(operation).await.json()["deleted"][0]["name"], "one");
    // The first such error is reported as it is.
    assert_eq!(world.bench.run(guarded).await.refused().0, 404);
}

#[tokio::test]
async fn what_is_called_off_half_way_says_how_far_it_came() {
    let world = with_timeout(60).await;
    for name in 0..10 {
        let metadata =
            json!({ "name": format!("cm-{name}"), "namespace": "default", "labels": { "app": "web" } });
        let manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
        world.bench.run(json!({ "verb": "create", "manifest": manifest })).await.json();
    }
    let freeze = Fault::new(Effect::Freeze).of_verbs([Verb::Delete]).of_resource("configmaps");
    let fault = world.faults.inject(freeze);
    let delete = json!({ "verb": "delete", "apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "labelSelector": "app=web" });
    let operation = OperationId::fresh();
    world.bench.submit_as(operation, &delete, Duration::from_mins(2));
    eventually!("eight are being deleted", world.faults.hits(fault) >= Some(8));
    world.bench.executor.cancel(operation);
    world.faults.lift(fault);
    let (code, message) = world.bench.answer(operation).await.refused();
    assert_eq!(code, 409, "{message}");
    let told =
        message.strip_prefix("the operation was cancelled after ").unwrap_or_else(|| panic!("{message}"));
    let (count, names) = told.split_once(" of 10 had been deleted: ").unwrap_or_else(|| panic!("{message}"));
    let left = world.cluster.list("", "configmaps", Some("default")).len();
    assert_eq!(names.split(", ").count(), count.parse::<usize>().unwrap());
    assert_eq!(count.parse::<usize>().unwrap() + left, 10, "{message}");
}

#[tokio::test]
async fn one_that_cannot_be_deleted_does_not_keep_the_others() {
    let world = world().await;
    for name in ["a", "b", "c"] {
        let metadata = json!({ "name": name, "namespace": "default", "labels": { "app": "web" } });
        let manifest = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
        world.bench.run(json!({ "verb": "create", "manifest": manifest })).await.json();
    }
    let forbidden = Effect::Status { code: 403, retry_after: None };
    world.faults.inject(Fault::new(forbidden).of_verbs([Verb::Delete]).of_resource("configmaps").times(1));
    let delete = json!({ "verb": "delete", "apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "labelSelector": "app=web" });
    assert_eq!(world.bench.run(delete).await.refused().0, 403);
    assert_eq!(world.cluster.list("", "configmaps", Some("default")).len(), 1);
}
