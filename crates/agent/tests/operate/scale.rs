//! scale, beside kubectl.

use serde_json::{Value, json};
use spindrift_testkit::Cluster;

use crate::support::Bench;

async fn deployment(cluster: &Cluster, namespace: &str) {
    let args = ["-n", namespace, "create", "deployment", "web", "--image=web:1", "--replicas=2"];
    cluster.kubectl(&args).await.unwrap();
}

fn scale(namespace: &str, replicas: u32, more: Value) -> Value {
    let target = json!({ "kind": "deploy", "namespace": namespace, "name": "web" });
    let mut scale = json!({ "verb": "scale", "target": target, "replicas": replicas });
    scale.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    scale
}

async fn replicas(cluster: &Cluster, namespace: &str) -> String {
    let args = ["-n", namespace, "get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"];
    cluster.kubectl(&args).await.unwrap()
}

#[tokio::test]
async fn replicas_are_set_if_all_is_as_it_was_thought_to_be() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("scale").await.unwrap();
    let bench = Bench::new(cluster).await;
    deployment(cluster, &namespace).await;
    let scaled = bench.run(scale(&namespace, 3, json!({}))).await.json();
    assert_eq!((&scaled["action"], &scaled["object"]["spec"]["replicas"]), (&json!("scaled"), &json!(3)));
    assert_eq!(replicas(cluster, &namespace).await, "3");

    let refused = bench.run(scale(&namespace, 4, json!({ "currentReplicas": 9 }))).await.refused();
    let args = ["-n", &namespace, "scale", "deployment/web", "--replicas=4", "--current-replicas=9"];
    let kubectl = cluster.kubectl(&args).await.unwrap_err();
    assert_eq!(refused, (409, "Expected replicas to be 9, was 3".to_owned()));
    assert!(format!("{kubectl:#}").contains(&refused.1), "{kubectl:#}");
    let version = scaled["object"]["metadata"]["resourceVersion"].clone();
    bench.run(scale(&namespace, 4, json!({ "currentReplicas": 3, "resourceVersion": version }))).await.json();
    assert_eq!(replicas(cluster, &namespace).await, "4");
    let stale = bench.run(scale(&namespace, 5, json!({ "resourceVersion": version }))).await.refused();
    assert!(stale.1.starts_with("Expected resource version to be "), "{}", stale.1);
}

#[tokio::test]
async fn what_is_only_tried_stays_as_it_was() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = cluster.namespace("tried").await.unwrap();
    let bench = Bench::new(cluster).await;
    deployment(cluster, &namespace).await;
    for dry_run in ["client", "server"] {
        let tried = bench.run(scale(&namespace, 7, json!({ "dryRun": dry_run }))).await.json();
        assert_eq!(tried["object"]["spec"]["replicas"], 7, "{dry_run}");
        assert_eq!(replicas(cluster, &namespace).await, "2", "{dry_run}");
    }
    let target = json!({ "kind": "configmap", "namespace": namespace, "name": "kube-root-ca.crt" });
    let unscalable = bench.run(json!({ "verb": "scale", "target": target, "replicas": 1 })).await.refused();
    assert_eq!(unscalable.0, 404, "{}", unscalable.1);
}
