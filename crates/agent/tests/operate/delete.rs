//! delete: until it is gone.

use std::time::Duration;

use serde_json::{Value, json};
use spindrift_model::OperationId;
use spindrift_testkit::{Cluster, eventually};

use crate::support::Bench;

fn config_map(namespace: &str, name: &str, more: Value) -> String {
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": namespace, "labels": { "app": "web" } },
    });
    if let Some(finalizers) = more.get("finalizers") {
        object["metadata"]["finalizers"] = finalizers.clone();
    }
    object.to_string()
}

async fn names(cluster: &Cluster, namespace: &str) -> String {
    cluster.kubectl(&["-n", namespace, "get", "configmap", "-l", "app=web", "-o", "name"]).await.unwrap()
}

#[tokio::test]
async fn what_a_selector_finds_is_deleted_and_named() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("delete").await.unwrap();
    let bench = Bench::new(cluster).await;
    for name in ["a", "b", "c"] {
        cluster
            .kubectl_stdin(&["create", "-f", "-"], &config_map(&namespace, name, json!({})))
            .await
            .unwrap();
    }
    let delete = |more: Value| {
        let mut delete =
            json!({ "verb": "delete", "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace });
        delete.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        delete
    };
    let tried = bench.run(delete(json!({ "labelSelector": "app=web", "dryRun": "server" }))).await.json();
    assert_eq!(tried["deleted"].as_array().unwrap().len(), 3);
    assert_eq!(names(cluster, &namespace).await.lines().count(), 3, "nothing was done");

    let done = bench.run(delete(json!({ "labelSelector": "app=web" }))).await.json();
    let deleted: Vec<_> = done["deleted"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(deleted, ["a", "b", "c"]);
    assert!(done["deleted"][0]["uid"].as_str().unwrap().len() > 30);
    assert_eq!(names(cluster, &namespace).await, "");

    let again = bench.run(delete(json!({ "name": "a" }))).await.refused();
    assert_eq!(again, (404, r#"configmaps "a" not found"#.to_owned()));
    let ignored = bench.run(delete(json!({ "name": "a", "ignoreNotFound": true }))).await.json();
    assert_eq!(ignored, json!({ "deleted": [] }));
    let both = bench.run(delete(json!({ "name": "a", "labelSelector": "app=web" }))).await.refused();
    assert_eq!(both, (400, "name cannot be provided when a selector is specified".to_owned()));
    assert_eq!(bench.run(delete(json!({}))).await.refused().0, 400, "never all of a kind");
}

#[tokio::test]
async fn it_is_done_when_the_object_is_gone_and_not_before() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("linger").await.unwrap();
    let bench = Bench::new(cluster).await;
    let held = config_map(&namespace, "held", json!({ "finalizers": ["example.com/hold"] }));
    cluster.kubectl_stdin(&["create", "-f", "-"], &held).await.unwrap();
    let delete = json!({ "verb": "delete", "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": "held" });

    let operation = OperationId::fresh();
    bench.submit_as(operation, &delete, Duration::from_secs(2));
    let (code, message) = bench.answer(operation).await.refused();
    assert_eq!(code, 504);
    assert!(message.starts_with("timed out waiting for the condition on configmaps/held"), "{message}");

    let operation = bench.submit(&delete);
    eventually!("it is being deleted", {
        let args =
            ["-n", &namespace, "get", "configmap", "held", "-o", "jsonpath={.metadata.deletionTimestamp}"];
        !cluster.kubectl(&args).await.unwrap().is_empty()
    });
    let release = r#"{"metadata":{"finalizers":null}}"#;
    cluster
        .kubectl(&["-n", &namespace, "patch", "configmap", "held", "--type=merge", "-p", release])
        .await
        .unwrap();
    let done = bench.answer(operation).await.json();
    assert_eq!(done["deleted"][0]["name"], "held");
}

#[tokio::test]
async fn only_the_one_that_is_meant_is_deleted() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("meant").await.unwrap();
    let bench = Bench::new(cluster).await;
    cluster.kubectl_stdin(&["create", "-f", "-"], &config_map(&namespace, "one", json!({}))).await.unwrap();
    let delete = json!({
        "verb": "delete", "apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": "one",
        "preconditions": { "uid": "11111111-2222-3333-4444-555555555555" },
    });
    let refusal = bench.run(delete).await.refusal();
    assert_eq!((refusal["code"].clone(), refusal["reason"].clone()), (json!(409), json!("Conflict")));
    assert_eq!(names(cluster, &namespace).await, "configmap/one\n");
}
