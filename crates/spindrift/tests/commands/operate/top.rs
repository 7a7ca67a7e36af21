//! What pods and nodes use, beside kubectl: by definitions of the kinds that a metrics server would serve.

use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Cluster, Database, HubProcess, Kubectl, eventually};

use crate::support::{LONG, Shell};

async fn serve_metrics(cluster: &Cluster) {
    for (kind, plural, scope) in [("PodMetrics", "pods", "Namespaced"), ("NodeMetrics", "nodes", "Cluster")] {
        let name = format!("{plural}.metrics.k8s.io");
        let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": name, "annotations": { "api-approved.kubernetes.io": "unapproved, a test" } },
            "spec": {
                "group": "metrics.k8s.io", "scope": scope,
                "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
                "versions": [{
                    "name": "v1beta1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
                }],
            },
        });
        create(cluster, &definition).await;
        let established = ["wait", "--for=condition=Established", "--timeout=30s", "crd", &name];
        cluster.kubectl(&established).await.unwrap();
    }
}

async fn create(cluster: &Cluster, object: &Value) {
    cluster.kubectl_stdin(&["create", "-f", "-"], &object.to_string()).await.unwrap();
}

fn pod(namespace: &str, name: &str, containers: &[(&str, &str, &str)]) -> Value {
    let container = |(name, cpu, memory): &(&str, &str, &str)| json!({ "name": name, "usage": { "cpu": cpu, "memory": memory } });
    json!({
        "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
        "metadata": { "name": name, "namespace": namespace, "labels": { "app": name } },
        "timestamp": "2026-11-16T08:00:00Z", "window": "15s",
        "containers": containers.iter().map(container).collect::<Vec<_>>(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_used_is_shown_as_kubectl_shows_it() {
    // One of its own: kinds of these names would be seen by others.
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let namespace = &cluster.namespace("top").await.unwrap();
    serve_metrics(&cluster).await;
    create(&cluster, &pod(namespace, "web", &[("main", "12345678n", "20Mi"), ("envoy", "3m", "1500Ki")]))
        .await;
    create(&cluster, &pod(namespace, "api", &[("main", "250m", "1Gi")])).await;
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "node-a" } });
    create(&cluster, &node).await;
    let has =
        r#"{"status":{"allocatable":{"cpu":"2","memory":"4Gi"},"capacity":{"cpu":"2","memory":"4Gi"}}}"#;
    cluster.kubectl(&["patch", "node", "node-a", "--subresource=status", "-p", has]).await.unwrap();
    create(&cluster, &json!({
        "apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics", "metadata": { "name": "node-a" },
        "timestamp": "2026-11-16T08:00:00Z", "window": "15s", "usage": { "cpu": "512m", "memory": "1000Mi" },
    }))
    .await;

    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let accounts = json!([{ "name": "main", "kubeconfigFile": cluster.kubeconfig() }]);
    let _agent = AgentProcess::start("agent-a", hub.grpc(), &accounts).unwrap();
    let kubectl = Kubectl::with(cluster.kubeconfig()).await.unwrap();
    let shell = Shell::new(Some(&hub));
    eventually!("the agent is there", LONG, {
        let said = shell.spindrift(&["top", "nodes"]);
        if said.code == Some(0) { Ok(()) } else { Err(said) }
    });
    for words in [
        &["top", "pods", "-n", namespace][..],
        &["top", "pods", "-A"],
        &["top", "pod", "web", "-n", namespace],
        &["top", "pods", "-n", namespace, "--containers"],
        &["top", "pods", "-n", namespace, "--sort-by=memory", "--no-headers"],
        &["top", "pods", "-n", namespace, "-l", "app=web"],
        &["top", "nodes"],
    ] {
        assert_eq!(shell.spindrift(words).ok(), kubectl.run(words, "").await.unwrap(), "{words:?}");
    }
    let nothing = shell.spindrift(&["top", "pods"]);
    assert_eq!((nothing.code, nothing.err.as_str()), (Some(0), "No resources found in default namespace.\n"));
}
