//! What becomes of operations when API servers fail.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use spindrift_model::Outcome;
use spindrift_playground::{Cluster, Effect, Fault, Faults, Key, Playground, Verb};
use spindrift_process::shutdown::Shutdown;

use crate::support::Bench;

struct World {
    bench: Bench,
    cluster: Arc<Cluster>,
    faults: Arc<Faults>,
    _files: tempfile::TempDir,
    _shutdown: Shutdown,
}

async fn world() -> World {
    let playground = Playground::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let cluster = Cluster::new("faulty");
    playground.add(cluster.clone());
    let shutdown = Shutdown::new();
    playground.start(&shutdown);
    let files = tempfile::tempdir().unwrap();
    let kubeconfig = files.path().join("kubeconfig");
    std::fs::write(&kubeconfig, playground.kubeconfig()).unwrap();
    let agent = json!({ "kubernetes": { "retries": { "backOffMs": 10 } }, "timeoutSeconds": 1 });
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
async fn a_change_without_an_answer_is_not_made_again_and_nobody_claims_to_know() {
    let world = world().await;
    world.bench.run(json!({ "verb": "create", "manifest": config_map() })).await.json();
    world.faults.inject(Fault::new(Effect::Cut).of_verbs([Verb::Delete]).of_resource("configmaps").times(1));
    let done = world.bench.run(delete()).await;
    let Outcome::Unknown { reason } = &done.outcome else { panic!("{:?}", done.outcome) };
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
