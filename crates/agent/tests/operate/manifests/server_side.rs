use serde_json::{Value, json};
use spindrift_kubernetes::LAST_APPLIED;

use super::pair::Pair;

fn deployment(env: &[&str]) -> Value {
    let env: Vec<Value> = env.iter().map(|name| json!({ "name": name, "value": "1" })).collect();
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "main", "image": "main:1", "env": env }] },
            },
        },
    })
}

fn config_map(data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "shared" }, "data": data })
}

fn variables(deployment: &Value) -> Vec<String> {
    let env = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
    env.as_array().into_iter().flatten().map(|env| env["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn one_can_change_sides_and_back_and_what_is_dropped_goes() -> anyhow::Result<()> {
    let pair = Pair::new("sides").await?;
    pair.both_apply(&deployment(&["A", "B", "C", "D"]), "").await?;
    let answer = pair.both_apply(&deployment(&["A", "B", "C"]), "--server-side").await?;
    assert_eq!(answer["action"], "serverside-applied");
    let ours = pair.our("deployment/web").await?;
    assert_eq!(variables(&ours), ["A", "B", "C"], "what client-side apply owned has moved");
    assert!(ours["metadata"]["annotations"][LAST_APPLIED].is_string(), "for the way back");

    pair.both_apply(&deployment(&["A", "B"]), "--server-side").await?;
    pair.both_apply(&deployment(&["A"]), "").await?;
    assert_eq!(variables(&pair.our("deployment/web").await?), ["A"]);
    pair.both_apply(&deployment(&[]), "--server-side").await?;
    assert!(variables(&pair.our("deployment/web").await?).is_empty());
    Ok(())
}

#[tokio::test]
async fn fields_of_others_are_refused_or_taken() -> anyhow::Result<()> {
    let pair = Pair::new("conflict").await?;
    let (code, answer) = pair
        .run(json!({ "verb": "apply", "mode": "server-side", "namespace": pair.ours,
                     "manifest": config_map(json!({ "a": "1" })) }))
        .await?;
    assert_eq!((code, &answer["action"]), (201, &json!("serverside-applied")));
    pair.kubectl("apply --server-side -f -", &config_map(json!({ "a": "1" }))).await?;
    pair.meanwhile(&["patch", "configmap/shared", "--field-manager=rival", "-p", r#"{"data":{"a":"2"}}"#])
        .await?;

    let third = config_map(json!({ "a": "3" }));
    let refused =
        json!({ "verb": "apply", "mode": "server-side", "namespace": pair.ours, "manifest": third });
    let status = pair.refusal(refused).await?;
    assert_eq!((&status["code"], &status["reason"]), (&json!(409), &json!("Conflict")));
    let cause = &status["details"]["causes"][0];
    assert_eq!((&cause["reason"], &cause["field"]), (&json!("FieldManagerConflict"), &json!(".data.a")));
    let said = pair.kubectl_fails("apply --server-side -f -", &third).await?;
    assert!(said.contains(status["message"].as_str().unwrap()), "{said}");

    pair.both_apply(&third, "--server-side --force-conflicts").await?;
    assert_eq!(pair.our("configmap/shared").await?["data"]["a"], "3");
    Ok(())
}

#[tokio::test]
async fn the_configuration_decides_where_the_request_does_not() -> anyhow::Result<()> {
    let settings = json!({ "kinds": [{ "kind": "ConfigMap", "enabled": "always" }] });
    let pair = Pair::configured("configured", settings).await?;
    assert_eq!(pair.apply(&config_map(json!({ "a": "1" }))).await?.1["action"], "serverside-applied");
    assert_eq!(pair.apply(&deployment(&[])).await?.1["action"], "created", "others are applied client-side");
    let mut asking = deployment(&["A"]);
    asking["metadata"]["annotations"] = json!({ "agent-k8s.armory.io/serverside-apply": "enabled" });
    assert_eq!(pair.apply(&asking).await?.1["action"], "serverside-applied");
    Ok(())
}

#[tokio::test]
async fn all_fields_can_be_taken_from_everyone() -> anyhow::Result<()> {
    let settings =
        json!({ "enabled": "always", "clearManagedFields": "always", "manifestDefaults": "always" });
    let pair = Pair::configured("cleared", settings).await?;
    pair.meanwhile(&["create", "configmap", "shared", "--from-literal=a=1", "--from-literal=theirs=2"])
        .await?;
    pair.apply(&config_map(json!({ "a": "9" }))).await?;
    let ours = pair.our("configmap/shared").await?;
    assert_eq!(ours["data"]["a"], "9");
    let managers = ours["metadata"]["managedFields"].as_array().unwrap();
    let owners: Vec<_> = managers.iter().map(|entry| (&entry["manager"], &entry["operation"])).collect();
    assert!(owners.contains(&(&json!("kubectl"), &json!("Apply"))), "{owners:?}");
    assert!(!owners.iter().any(|(manager, _)| *manager == "kubectl-create"), "{owners:?}");
    Ok(())
}
