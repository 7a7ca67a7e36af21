//! Accounts that their agent cannot serve are shown by the hub, with the reason.

use serde_json::{Value, json};
use spindrift_testkit::{binary, eventually, free_port};

use crate::{
    engine::Stage,
    support::{LONG, Stack},
};

/// An account whose API server does not exist, or not yet.
fn away(directory: &std::path::Path, port: u16) -> Value {
    let file = directory.join("away.yml");
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "away",
        "clusters": [{ "name": "away", "cluster": { "server": format!("http://127.0.0.1:{port}") } }],
        "contexts": [{ "name": "away", "context": { "cluster": "away", "user": "away" } }],
        "users": [{ "name": "away", "user": {} }],
    });
    std::fs::write(&file, kubeconfig.to_string()).unwrap();
    json!({ "name": "away", "kubeconfigFile": file })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_never_came_up_is_shown_with_the_reason() {
    let stage = Stage::set(1).await;
    let files = spindrift_testkit::scratch("away").unwrap();
    // The only account at first: the agent connects for it all the same.
    let accounts = json!([away(files.path(), free_port())]);
    let mut stack = Stack::with_settings(&["Namespace"], accounts.clone(), &[]).await;
    let shown = eventually!("the hub shows it", LONG, {
        let shown = stack.account("away").await;
        (!shown.is_null()).then_some(shown)
    });
    assert_eq!(shown["unavailable"][0]["agent"], "agent-a");
    let reason = shown["unavailable"][0]["reason"].as_str().unwrap().to_owned();
    assert!(!reason.is_empty() && shown["problem"].as_str().unwrap().contains(&reason), "{shown}");
    assert!(shown["cachedBy"].is_null());
    let agents = stack.hub.get("/armory/agents").await.unwrap();
    assert_eq!(agents[0]["unavailableAccounts"][0]["name"], "away", "{agents}");
    assert_eq!(agents[0]["accounts"], json!([]));
    let account = stack.hub.get("/agents/kubernetes/accounts/away").await.unwrap();
    assert_eq!(
        (&account["status"], account["errorMessage"].is_string()),
        (&json!("FAILED"), true),
        "{account}"
    );
    assert_eq!(stack.hub.get("/credentials").await.unwrap(), json!([]), "Spinnaker cannot use it");
    eventually!("the gauge counts it", LONG, {
        stack.hub.metric("spindrift_hub_unavailable_accounts").await.is_ok_and(|count| count == 1)
    });
    let output = std::process::Command::new(binary("spindrift").unwrap())
        .arg("accounts")
        .env("SPINDRIFT_HUB", stack.hub.url())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("unavailable"), "{output:?}");

    // Another account is served meanwhile, and the one that is removed is not shown any more.
    let served = stage.accounts();
    let both = json!([accounts[0], served[0]]);
    stack.agent.reconfigure(|all| all["kubernetes"]["accounts"] = both).unwrap();
    let name = stage.fleet.clusters[0].name();
    stack.synced(name).await;
    assert_eq!(stack.account(name).await["unavailable"], json!([]));
    stack.agent.reconfigure(|all| all["kubernetes"]["accounts"] = json!(served)).unwrap();
    eventually!("it is gone", LONG, stack.account("away").await.is_null());
}
