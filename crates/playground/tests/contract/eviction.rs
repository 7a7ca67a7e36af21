//! Eviction: a deletion that respects disruption budgets.

use serde_json::{Value, json};

use crate::support::{MERGE, Server, failure, pod, with};

facts![
    eviction_deletes_gracefully,
    a_budget_can_refuse_an_eviction,
    a_budget_that_nobody_has_counted_refuses,
    the_pod_must_exist,
    the_name_must_be_that_of_the_path,
    evictions_are_only_created,
];

fn eviction(server: &Server, name: &str) -> Value {
    json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": name, "namespace": server.namespace()},
    })
}

async fn running(server: &Server) -> anyhow::Result<()> {
    let mut pod = with(pod("main"), "/spec/nodeName", "node-1");
    pod["metadata"]["labels"] = json!({"app": "main"});
    server.post(server.core("pods"), pod).ok().await?;
    let status = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    server.patch(MERGE, server.core("pods/main/status"), status).ok().await?;
    Ok(())
}

async fn budget(server: &Server) -> anyhow::Result<String> {
    let path = server.named("policy/v1", "poddisruptionbudgets");
    let body = json!({
        "metadata": {"name": "budget"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "main"}}},
    });
    server.post(path.clone(), body).ok().await?;
    Ok(format!("{path}/budget"))
}

async fn eviction_deletes_gracefully(server: &Server) -> anyhow::Result<()> {
    running(server).await?;
    let success =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    let path = server.core("pods/main/eviction");
    let dry = server.post(path.clone() + "?dryRun=All", eviction(server, "main")).ok().await?;
    assert_eq!(dry, success);
    let pod = server.get(server.core("pods/main")).ok().await?;
    assert_eq!(pod["metadata"]["deletionTimestamp"], Value::Null);

    assert_eq!(server.post(path, eviction(server, "main")).ok().await?, success);
    let pod = server.get(server.core("pods/main")).ok().await?;
    assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 30);
    let conditions = pod["status"]["conditions"].as_array().unwrap();
    let target = conditions.iter().find(|condition| condition["type"] == "DisruptionTarget").unwrap();
    assert_eq!(target["reason"], "EvictionByEvictionAPI");
    assert_eq!(target["message"], "Eviction API: evicting");
    Ok(())
}

fn refusal(cause: &str, retry_after: Option<u64>) -> Value {
    let mut details = json!({"causes": [{"reason": "DisruptionBudget", "message": cause}]});
    if let Some(seconds) = retry_after {
        details["retryAfterSeconds"] = seconds.into();
    }
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    failure(429, "TooManyRequests", message, details)
}

async fn a_budget_can_refuse_an_eviction(server: &Server) -> anyhow::Result<()> {
    running(server).await?;
    let budget = budget(server).await?;
    let status = json!({"status": {
        "observedGeneration": 1, "disruptionsAllowed": 0,
        "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1,
    }});
    server.patch(MERGE, budget + "/status", status).ok().await?;
    let refused = server.post(server.core("pods/main/eviction"), eviction(server, "main")).refused().await?;
    assert_eq!(
        refused,
        refusal("The disruption budget budget needs 1 healthy pods and has 1 currently", None)
    );
    Ok(())
}

async fn a_budget_that_nobody_has_counted_refuses(server: &Server) -> anyhow::Result<()> {
    running(server).await?;
    budget(server).await?;
    let refused = server.post(server.core("pods/main/eviction"), eviction(server, "main")).refused().await?;
    let cause = "The disruption budget budget is still being processed by the server.";
    assert_eq!(refused, refusal(cause, Some(10)));
    Ok(())
}

async fn the_pod_must_exist(server: &Server) -> anyhow::Result<()> {
    let path = server.core("pods/absent/eviction");
    let refused = server.post(path, eviction(server, "absent")).refused().await?;
    let details = json!({"name": "absent", "kind": "pods"});
    assert_eq!(refused, failure(404, "NotFound", "pods \"absent\" not found", details));
    Ok(())
}

async fn the_name_must_be_that_of_the_path(server: &Server) -> anyhow::Result<()> {
    running(server).await?;
    let refused = server.post(server.core("pods/main/eviction"), eviction(server, "other")).refused().await?;
    let message = "name in URL does not match name in Eviction object";
    assert_eq!(refused, failure(400, "BadRequest", message, Value::Null));
    Ok(())
}

async fn evictions_are_only_created(server: &Server) -> anyhow::Result<()> {
    running(server).await?;
    let refused = server.get(server.core("pods/main/eviction")).refused().await?;
    let message = "the server does not allow this method on the requested resource";
    assert_eq!(refused, failure(405, "MethodNotAllowed", message, json!({})));
    Ok(())
}
