//! Spec and status are written separately; the generation counts changes of the spec.

use serde_json::{Value, json};

use crate::support::{MERGE, Server, deployment, failure, version, with};

facts![
    the_status_path_changes_only_the_status,
    the_main_path_does_not_change_the_status,
    a_status_can_be_put,
    the_generation_counts_changes_of_the_spec,
    created_objects_have_no_status_of_their_own,
    a_status_can_be_read,
    a_status_is_neither_created_nor_deleted,
    what_has_no_status_has_no_path_for_it,
];

async fn deployed(server: &Server) -> anyhow::Result<String> {
    let path = server.named("apps/v1", "deployments");
    server.post(path.clone(), deployment("web")).ok().await?;
    Ok(path + "/web")
}

async fn the_status_path_changes_only_the_status(server: &Server) -> anyhow::Result<()> {
    let path = deployed(server).await?;
    let patch = json!({
        "metadata": {"labels": {"via": "status"}}, "spec": {"replicas": 7},
        "status": {"observedGeneration": 1, "replicas": 1},
    });
    let patched = server.patch(MERGE, path + "/status", patch).ok().await?;
    assert_eq!(patched["status"], json!({"observedGeneration": 1, "replicas": 1}));
    assert_eq!(patched["spec"]["replicas"], 2);
    assert_eq!(patched["metadata"]["labels"], Value::Null);
    assert_eq!(patched["metadata"]["generation"], 1);
    Ok(())
}

async fn the_main_path_does_not_change_the_status(server: &Server) -> anyhow::Result<()> {
    let path = deployed(server).await?;
    server.patch(MERGE, path.clone() + "/status", json!({"status": {"replicas": 1}})).ok().await?;
    let patch = json!({"spec": {"replicas": 7}, "status": {"replicas": 9}});
    let patched = server.patch(MERGE, path.clone(), patch).ok().await?;
    assert_eq!(patched["status"], json!({"replicas": 1}));
    assert_eq!(patched["spec"]["replicas"], 7);
    let put = server.put(path, deployment("web")).ok().await?;
    assert_eq!(put["status"], json!({"replicas": 1}));
    Ok(())
}

async fn a_status_can_be_put(server: &Server) -> anyhow::Result<()> {
    let path = deployed(server).await?;
    let object = server.get(path.clone()).ok().await?;
    let body = with(with(object.clone(), "/status/replicas", 3), "/spec/replicas", 9);
    let put = server.put(path.clone() + "/status", body.clone()).ok().await?;
    assert_eq!(put["status"], json!({"replicas": 3}));
    assert_eq!(put["spec"]["replicas"], 2);
    assert_ne!(version(&put), version(&object));
    let refused = server.put(path + "/status", with(body, "/status/replicas", 4)).refused().await?;
    assert_eq!((&refused["code"], &refused["reason"]), (&json!(409), &json!("Conflict")), "it is stale now");
    Ok(())
}

async fn the_generation_counts_changes_of_the_spec(server: &Server) -> anyhow::Result<()> {
    let path = deployed(server).await?;
    let mut generations = Vec::new();
    for patch in [
        json!({"metadata": {"labels": {"a": "b"}}}),
        json!({"spec": {"replicas": 3}}),
        json!({"spec": {"replicas": 3}}),
        json!({"metadata": {"annotations": {"a": "b"}}}),
        json!({"spec": {"paused": true}}),
    ] {
        let patched = server.patch(MERGE, path.clone(), patch).ok().await?;
        generations.push(patched["metadata"]["generation"].as_u64().unwrap());
    }
    // An annotation of a Deployment counts too, since controllers read it.
    assert_eq!(generations, [1, 2, 2, 3, 4]);
    Ok(())
}

async fn created_objects_have_no_status_of_their_own(server: &Server) -> anyhow::Result<()> {
    let body = with(deployment("web"), "/status/replicas", 5);
    let created = server.post(server.named("apps/v1", "deployments"), body).ok().await?;
    assert_eq!(created["status"], json!({}));
    Ok(())
}

async fn a_status_can_be_read(server: &Server) -> anyhow::Result<()> {
    let path = deployed(server).await?;
    assert_eq!(server.get(path.clone() + "/status").ok().await?, server.get(path).ok().await?);
    Ok(())
}

async fn a_status_is_neither_created_nor_deleted(server: &Server) -> anyhow::Result<()> {
    let path = deployed(server).await? + "/status";
    let message = "the server does not allow this method on the requested resource";
    let expected = failure(405, "MethodNotAllowed", message, json!({}));
    assert_eq!(server.delete(path.clone()).refused().await?, expected);
    assert_eq!(server.post(path, deployment("web")).refused().await?, expected);
    Ok(())
}

async fn what_has_no_status_has_no_path_for_it(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let refused = server.get(server.core("configmaps/one/status")).refused().await?;
    let message = "the server could not find the requested resource";
    assert_eq!(refused, failure(404, "NotFound", message, json!({})));
    Ok(())
}
