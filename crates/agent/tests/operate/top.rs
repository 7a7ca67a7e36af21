//! top, from a metrics API of ours behind the real API server.

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, MetricsApi};

use crate::support::Bench;

#[tokio::test]
async fn what_pods_use_is_read_where_it_is_measured() {
    // A cluster of its own: others would see its metrics API.
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let namespace = cluster.namespace("top").await.unwrap();
    let other = cluster.namespace("top").await.unwrap();
    let bench = Bench::new(&cluster).await;
    let unavailable = bench.run(json!({ "verb": "top", "kind": "pods" })).await.refused();
    assert_eq!(unavailable, (404, "Metrics API not available".to_owned()));

    let metrics = MetricsApi::start(&cluster).await.unwrap();
    for (namespace, name, app) in
        [(&namespace, "one", "web"), (&namespace, "two", "db"), (&other, "three", "web")]
    {
        metrics.measure_pod(namespace, name, &json!({ "app": app }), &[("main", "12m", "34Mi")]);
    }
    metrics.measure_node("node-a", "1", "2Gi");
    let names = |list: &Value| -> Vec<Value> {
        list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].clone()).collect()
    };
    let all = bench.run(json!({ "verb": "top", "kind": "pods" })).await.json();
    assert_eq!(all["kind"], "PodMetricsList");
    assert_eq!(names(&all).len(), 3);
    let some = json!({ "verb": "top", "kind": "pod", "namespace": namespace, "labelSelector": "app=web" });
    let some = bench.run(some).await.json();
    assert_eq!(names(&some), ["one"]);
    assert_eq!(some["items"][0]["containers"][0]["usage"], json!({ "cpu": "12m", "memory": "34Mi" }));
    let one = json!({ "verb": "top", "kind": "pods", "namespace": namespace, "name": "two" });
    assert_eq!(names(&bench.run(one).await.json()), ["two"]);
    assert_eq!(names(&bench.run(json!({ "verb": "top", "kind": "nodes" })).await.json()), ["node-a"]);
    assert_eq!(bench.run(json!({ "verb": "top", "kind": "jobs" })).await.refused().0, 400);

    let limited = Bench::with(cluster.kubeconfig(), json!({ "namespaces": [other] }), json!({})).await;
    assert_eq!(names(&limited.run(json!({ "verb": "top", "kind": "pods" })).await.json()), ["three"]);
    let refused =
        limited.run(json!({ "verb": "top", "kind": "pods", "namespace": namespace })).await.refused();
    assert_eq!(refused.0, 401);
}
