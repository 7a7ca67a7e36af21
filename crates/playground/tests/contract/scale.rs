//! The scale subresource: one schema for all workloads.

use serde_json::{Value, json};

use crate::support::{
    Cause, JSON_PATCH, MERGE, STRATEGIC, Server, deployment, failure, invalid, plain, version, with,
};

facts![
    every_workload_has_a_scale,
    a_scale_can_be_put,
    a_scale_can_be_patched_in_every_way,
    scaling_is_a_change_of_the_spec,
    an_unchanged_scale_changes_nothing,
    a_stale_scale_is_a_conflict,
    scales_are_not_negative,
    a_name_is_required,
    absent_workloads_have_no_scale,
    what_has_no_replicas_has_no_scale,
];

async fn workload(server: &Server, kind: &str) -> anyhow::Result<String> {
    let path = server.named("apps/v1", &format!("{}s", kind.to_lowercase()));
    let object = with(deployment("web"), "/kind", kind);
    server.post(path.clone(), object).ok().await?;
    Ok(path + "/web")
}

fn scale(replicas: i32) -> Value {
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "web"},
        "spec": {"replicas": replicas}, "status": {"replicas": 0, "selector": "app=web"},
    })
}

async fn every_workload_has_a_scale(server: &Server) -> anyhow::Result<()> {
    for kind in ["Deployment", "ReplicaSet", "StatefulSet"] {
        let path = workload(server, kind).await?;
        let object = server.get(path.clone()).ok().await?;
        let found = server.get(path + "/scale").ok().await?;
        assert_eq!(plain(&found), scale(2), "{kind}");
        for field in ["uid", "resourceVersion", "creationTimestamp", "namespace"] {
            assert_eq!(found["metadata"][field], object["metadata"][field], "{field}");
        }
    }
    Ok(())
}

async fn a_scale_can_be_put(server: &Server) -> anyhow::Result<()> {
    let path = workload(server, "Deployment").await?;
    let mut body = server.get(path.clone() + "/scale").ok().await?;
    body["spec"]["replicas"] = 3.into();
    assert_eq!(plain(&server.put(path.clone() + "/scale", body).ok().await?), scale(3));
    // Without a resource version, as some autoscalers write.
    let body = json!({"metadata": {"name": "web", "namespace": server.namespace()}, "spec": {"replicas": 4}});
    assert_eq!(plain(&server.put(path.clone() + "/scale", body).ok().await?), scale(4));
    assert_eq!(server.get(path).ok().await?["spec"]["replicas"], 4);
    Ok(())
}

async fn a_scale_can_be_patched_in_every_way(server: &Server) -> anyhow::Result<()> {
    let path = workload(server, "StatefulSet").await? + "/scale";
    let patched = server.patch(MERGE, path.clone(), json!({"spec": {"replicas": 5}})).ok().await?;
    assert_eq!(plain(&patched), scale(5));
    let patched = server.patch(STRATEGIC, path.clone(), json!({"spec": {"replicas": 6}})).ok().await?;
    assert_eq!(plain(&patched), scale(6));
    let patch = json!([{"op": "replace", "path": "/spec/replicas", "value": 7}]);
    assert_eq!(plain(&server.patch(JSON_PATCH, path, patch).ok().await?), scale(7));
    Ok(())
}

async fn scaling_is_a_change_of_the_spec(server: &Server) -> anyhow::Result<()> {
    let path = workload(server, "Deployment").await?;
    let scaled = server.patch(MERGE, path.clone() + "/scale", json!({"spec": {"replicas": 5}})).ok().await?;
    let object = server.get(path).ok().await?;
    assert_eq!(object["spec"]["replicas"], 5);
    assert_eq!(object["metadata"]["generation"], 2);
    assert_eq!(version(&object), version(&scaled));
    Ok(())
}

async fn an_unchanged_scale_changes_nothing(server: &Server) -> anyhow::Result<()> {
    let path = workload(server, "Deployment").await? + "/scale";
    let patch = json!({"spec": {"replicas": 3}});
    let before = server.patch(MERGE, path.clone(), patch.clone()).ok().await?;
    let after = server.patch(MERGE, path, patch).ok().await?;
    assert_eq!(after, before);
    Ok(())
}

async fn a_stale_scale_is_a_conflict(server: &Server) -> anyhow::Result<()> {
    let path = workload(server, "Deployment").await? + "/scale";
    let body = json!({
        "metadata": {"name": "web", "namespace": server.namespace(), "resourceVersion": "1"},
        "spec": {"replicas": 3},
    });
    let message = "Operation cannot be fulfilled on deployments.apps \"web\": the object has been modified; please \
                   apply your changes to the latest version and try again";
    let details = json!({"name": "web", "group": "apps", "kind": "deployments"});
    assert_eq!(server.put(path, body).refused().await?, failure(409, "Conflict", message, details));
    Ok(())
}

async fn scales_are_not_negative(server: &Server) -> anyhow::Result<()> {
    let path = workload(server, "Deployment").await? + "/scale";
    let refused = server.patch(MERGE, path, json!({"spec": {"replicas": -4}})).refused().await?;
    let cause =
        Cause("FieldValueInvalid", "spec.replicas", "Invalid value: -4: must be greater than or equal to 0");
    assert_eq!(refused, invalid("Scale.autoscaling", "web", cause));
    Ok(())
}

async fn a_name_is_required(server: &Server) -> anyhow::Result<()> {
    let path = workload(server, "Deployment").await? + "/scale";
    let refused = server.put(path, json!({"spec": {"replicas": 4}})).refused().await?;
    let message = "the name of the object (web based on URL) was undeterminable: name must be provided";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn absent_workloads_have_no_scale(server: &Server) -> anyhow::Result<()> {
    let refused = server.get(server.named("apps/v1", "deployments/absent/scale")).refused().await?;
    let details = json!({"name": "absent", "group": "apps", "kind": "deployments"});
    assert_eq!(refused, failure(404, "NotFound", "deployments.apps \"absent\" not found", details));
    Ok(())
}

async fn what_has_no_replicas_has_no_scale(server: &Server) -> anyhow::Result<()> {
    server.config_map("one").await?;
    let refused = server.get(server.core("configmaps/one/scale")).refused().await?;
    let message = "the server could not find the requested resource";
    assert_eq!(refused, failure(404, "NotFound", message, json!({})));
    Ok(())
}
