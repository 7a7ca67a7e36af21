//! top, from a small metrics API of ours: definitions of the group that a metrics server would serve.

use serde_json::{Value, json};
use spindrift_testkit::Cluster;

use crate::support::Bench;

async fn serve_metrics(cluster: &Cluster) {
    for (kind, plural, scope) in [("PodMetrics", "pods", "Namespaced"), ("NodeMetrics", "nodes", "Cluster")] {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{plural}.metrics.k8s.io"),
                "annotations": { "api-approved.kubernetes.io": "unapproved, a test" },
            },
            "spec": {
                "group": "metrics.k8s.io", "scope": scope,
                "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
                "versions": [{
                    "name": "v1beta1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                }],
            },
        });
        cluster.kubectl_stdin(&["apply", "-f", "-"], &definition.to_string()).await.unwrap();
        let name = format!("crd/{plural}.metrics.k8s.io");
        cluster.kubectl(&["wait", "--for=condition=Established", "--timeout=30s", &name]).await.unwrap();
    }
}

#[tokio::test]
async fn what_pods_use_is_read_where_it_is_measured() {
    // One of its own: kinds of these names would be seen by others.
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let namespace = cluster.namespace("top").await.unwrap();
    let other = cluster.namespace("top").await.unwrap();
    let bench = Bench::new(&cluster).await;
    let unavailable = bench.run(json!({ "verb": "top", "kind": "pods" })).await.refused();
    assert_eq!(unavailable, (404, "Metrics API not available".to_owned()));

    serve_metrics(&cluster).await;
    for (namespace, name, app) in
        [(&namespace, "one", "web"), (&namespace, "two", "db"), (&other, "three", "web")]
    {
        let usage = json!({ "cpu": "12m", "memory": "34Mi" });
        let metrics = json!({
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
            "metadata": { "name": name, "namespace": namespace, "labels": { "app": app } },
            "timestamp": "2026-01-01T00:00:00Z", "window": "15s",
            "containers": [{ "name": "main", "usage": usage }],
        });
        cluster.kubectl_stdin(&["create", "-f", "-"], &metrics.to_string()).await.unwrap();
    }
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
    assert_eq!(names(&bench.run(json!({ "verb": "top", "kind": "nodes" })).await.json()).len(), 0);
    assert_eq!(bench.run(json!({ "verb": "top", "kind": "jobs" })).await.refused().0, 400);

    let limited = Bench::with(cluster.kubeconfig(), json!({ "namespaces": [other] }), json!({})).await;
    assert_eq!(names(&limited.run(json!({ "verb": "top", "kind": "pods" })).await.json()), ["three"]);
    let refused =
        limited.run(json!({ "verb": "top", "kind": "pods", "namespace": namespace })).await.refused();
    assert_eq!(refused.0, 401);
}
