//! Usage of pods and nodes, beside kubectl: by a metrics API of ours behind the real API server.

use serde_json::json;
use spindrift_testkit::{AgentProcess, Cluster, Database, HubProcess, Kubectl, MetricsApi, eventually};

use crate::support::{LONG, Shell};

#[tokio::test(flavor = "multi_thread")]
async fn usage_is_shown_as_by_kubectl() {
    // One of its own: other tests would see its metrics API.
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let namespace = &cluster.namespace("top").await.unwrap();
    let metrics = MetricsApi::start(&cluster).await.unwrap();
    let web = [("main", "12345678n", "20Mi"), ("envoy", "3m", "1500Ki")];
    metrics.measure_pod(namespace, "web", &json!({ "app": "web" }), &web);
    metrics.measure_pod(namespace, "api", &json!({ "app": "api" }), &[("main", "250m", "1Gi")]);
    metrics.measure_node("node-a", "512m", "1000Mi");
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "node-a" } });
    cluster.kubectl_stdin(&["create", "-f", "-"], &node.to_string()).await.unwrap();
    let has =
        r#"{"status":{"allocatable":{"cpu":"2","memory":"4Gi"},"capacity":{"cpu":"2","memory":"4Gi"}}}"#;
    cluster.kubectl(&["patch", "node", "node-a", "--subresource=status", "-p", has]).await.unwrap();

    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let accounts = json!([{ "name": "main", "kubeconfigFile": cluster.kubeconfig() }]);
    let _agent = AgentProcess::start("agent-a", hub.grpc(), &accounts).unwrap();
    let kubectl = Kubectl::with(cluster.kubeconfig()).await.unwrap();
    let shell = Shell::new(Some(&hub));
    eventually!("the agent is there", LONG, {
        let output = shell.spindrift(&["top", "nodes"]);
        if output.code == Some(0) { Ok(()) } else { Err(output) }
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
