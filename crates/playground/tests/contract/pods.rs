//! Pods: graceful termination, binding to nodes, immutable fields.

use serde_json::{Value, json};

use crate::support::{MERGE, STRATEGIC, Server, failure, pod, with};

facts![
    a_pod_without_a_node_is_deleted_at_once,
    a_pod_on_a_node_gets_its_grace_period,
    the_grace_period_can_be_chosen,
    a_pod_is_deleted_at_once_on_request,
    a_pod_is_bound_to_a_node_once,
    only_the_image_of_a_pod_may_change,
];

async fn scheduled(server: &Server, name: &str) -> anyhow::Result<String> {
    let path = server.core("pods");
    server.post(path.clone(), with(pod(name), "/spec/nodeName", "node-1")).ok().await?;
    Ok(format!("{path}/{name}"))
}

async fn a_pod_without_a_node_is_deleted_at_once(server: &Server) -> anyhow::Result<()> {
    server.post(server.core("pods"), pod("free")).ok().await?;
    let deleted = server.delete(server.core("pods/free")).ok().await?;
    assert_eq!(deleted["kind"], "Pod");
    assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(server.get(server.core("pods/free")).refused().await?["code"], 404);
    Ok(())
}

async fn a_pod_on_a_node_gets_its_grace_period(server: &Server) -> anyhow::Result<()> {
    let path = scheduled(server, "main").await?;
    let deleting = server.delete(path.clone()).ok().await?;
    assert_eq!(deleting["metadata"]["deletionGracePeriodSeconds"], 30);
    assert!(deleting["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(server.get(path.clone()).ok().await?["metadata"]["name"], "main", "its node is to end it");
    server.delete(path.clone() + "?gracePeriodSeconds=0").ok().await?;
    assert_eq!(server.get(path).refused().await?["code"], 404);
    Ok(())
}

async fn the_grace_period_can_be_chosen(server: &Server) -> anyhow::Result<()> {
    let path = scheduled(server, "main").await?;
    let deleting = server.delete(path).json(&json!({"gracePeriodSeconds": 50})).ok().await?;
    assert_eq!(deleting["metadata"]["deletionGracePeriodSeconds"], 50);
    Ok(())
}

async fn a_pod_is_deleted_at_once_on_request(server: &Server) -> anyhow::Result<()> {
    let path = scheduled(server, "main").await?;
    server.delete(path.clone() + "?gracePeriodSeconds=0").ok().await?;
    assert_eq!(server.get(path).refused().await?["code"], 404);
    Ok(())
}

async fn a_pod_is_bound_to_a_node_once(server: &Server) -> anyhow::Result<()> {
    server.post(server.core("pods"), pod("free")).ok().await?;
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "free"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "node-1"},
    });
    let bound = server.post(server.core("pods/free/binding"), binding.clone()).ok().await?;
    let success =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    assert_eq!(bound, success);
    let pod = server.get(server.core("pods/free")).ok().await?;
    assert_eq!(pod["spec"]["nodeName"], "node-1");
    assert_eq!(pod["status"]["conditions"][0]["type"], "PodScheduled");
    assert_eq!(pod["status"]["conditions"][0]["status"], "True");

    let refused = server.post(server.core("pods/free/binding"), binding).refused().await?;
    let message = "Operation cannot be fulfilled on pods/binding \"free\": pod free is already assigned to node \
                   \"node-1\"";
    let details = json!({"name": "free", "kind": "pods/binding"});
    assert_eq!(refused, failure(409, "Conflict", message, details));
    Ok(())
}

async fn only_the_image_of_a_pod_may_change(server: &Server) -> anyhow::Result<()> {
    server.post(server.core("pods"), pod("main")).ok().await?;
    let image = json!({"spec": {"containers": [{"name": "main", "image": "main:2"}]}});
    let patched = server.patch(STRATEGIC, server.core("pods/main"), image).ok().await?;
    assert_eq!(patched["spec"]["containers"][0]["image"], "main:2");
    assert_eq!(patched["metadata"]["generation"], 2);

    let host = json!({"spec": {"hostNetwork": true}});
    let refused = server.patch(MERGE, server.core("pods/main"), host).refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(422), &json!("Invalid")));
    let message = refused["message"].as_str().unwrap();
    let words = "Pod \"main\" is invalid: spec: Forbidden: pod updates may not change fields other than ";
    assert!(message.starts_with(words), "{message}");
    assert_eq!(server.get(server.core("pods/main")).ok().await?["spec"]["hostNetwork"], Value::Null);
    Ok(())
}
