//! One bad account, kind, object or row disturbs no other, and can be seen.

mod huge;
mod invalid_messages;
mod objects;

use serde_json::{Value, json};
use spindrift_testkit::{
    AgentProcess, Cluster, Database, FaultProxy, HubProcess, eventually, free_port, scratch,
};

use crate::support::{LONG, Stack, account};

/// An account's line of the agent's `/accounts`.
async fn line(agent: &AgentProcess, account: &str) -> anyhow::Result<Value> {
    let accounts = agent.get("/accounts").await?;
    let lines = accounts.as_array().into_iter().flatten();
    let found = lines.into_iter().find(|line| line["Config"]["Name"] == account);
    found.cloned().ok_or_else(|| anyhow::anyhow!("{account} is not in {accounts}"))
}

/// Waits until a problem of the account contains all these words, and gives its line.
async fn shown_problem(agent: &AgentProcess, account: &str, words: &[&str]) -> Value {
    eventually(&format!("{account} shows {words:?}"), LONG, || async {
        let line = line(agent, account).await?;
        let problems = line["Problems"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let shown = problems.into_iter().any(|problem| words.iter().all(|word| problem.contains(word)));
        anyhow::ensure!(shown, "{line}");
        Ok(line)
    })
    .await
}

/// A ConfigMap that is created now arrives under the account.
async fn assert_flows(cluster: &Cluster, hub: &HubProcess, account: &str, namespace: &str) {
    let name = format!("flows-{}", fastrand::u64(..));
    cluster.kubectl(&["create", "configmap", &name, "-n", namespace]).await.unwrap();
    arrives(hub, account, namespace, &name).await;
}

async fn arrives(hub: &HubProcess, account: &str, namespace: &str, name: &str) {
    let query = [("account", account), ("kind", "ConfigMap"), ("namespace", namespace), ("name", name)];
    eventually!(format!("{name} arrives under {account}"), LONG, {
        hub.objects(&query).await.unwrap().len() == 1
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_that_cannot_be_reached_leave_the_good_one_alone() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("reach").await.unwrap();
    let directory = scratch("kubeconfigs").unwrap();
    let broken = directory.path().join("broken");
    std::fs::write(&broken, "clusters: [nonsense\n  here").unwrap();
    let missing = directory.path().join("missing");
    let closed = ([127, 0, 0, 1], free_port()).into();
    let accounts = json!([
        { "name": "broken", "kubeconfigFile": broken },
        { "name": "missing", "kubeconfigFile": missing },
        { "name": "closed", "kubeconfigFile": cluster.kubeconfig_via(closed).unwrap() },
        { "name": "nothing" },
        account("good", cluster),
    ]);
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], accounts).await;

    assert_flows(cluster, &stack.hub, "good", namespace).await;
    for (name, says) in [
        ("broken", broken.to_str().unwrap()),
        ("missing", missing.to_str().unwrap()),
        ("closed", "onnection refused"),
        ("nothing", "expected kubeconfigFile"),
    ] {
        let line = line(&stack.agent, name).await.unwrap();
        assert_eq!(line["State"]["Name"], "DiscoveryError", "{line}");
        assert!(line["State"]["Error"].as_str().unwrap().contains(says), "{line}");
        let log = stack.agent.daemon().log();
        assert!(log.contains(&format!("Notifying account discovery error for {name}")), "{name}");
    }
    assert_eq!(stack.metric("spindrift_agent_accounts_failed").await, 4);
    let good = line(&stack.agent, "good").await.unwrap();
    assert_eq!((&good["State"]["Name"], &good["Problems"]), (&json!("Healthy"), &json!([])));

    // Its file is put right: the account comes by itself.
    std::fs::copy(cluster.kubeconfig(), &broken).unwrap();
    assert_flows(cluster, &stack.hub, "broken", namespace).await;
    assert_eq!(line(&stack.agent, "broken").await.unwrap()["State"], json!({ "Name": "Healthy" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_lost_leaves_the_good_one_alone_and_is_found_again() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("lost").await.unwrap();
    let proxy = FaultProxy::start(cluster.addr()).await.unwrap();
    let lost = json!({ "name": "lost", "kubeconfigFile": cluster.kubeconfig_via(proxy.addr()).unwrap() });
    let accounts = json!([lost, account("good", cluster)]);
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], accounts).await;
    assert_flows(cluster, &stack.hub, "lost", namespace).await;

    proxy.cut();
    let why = eventually!("the lost watch waits", LONG, {
        let watches = stack.agent.get("/watches").await.unwrap();
        watches["lost"]["waiting"][0]["error"].as_str().map(str::to_owned)
    });
    assert!(why.contains("GET /api/v1/configmaps"), "{why}");
    eventually!("it is counted", LONG, stack.metric("spindrift_agent_watches_waiting").await == 1);
    assert_flows(cluster, &stack.hub, "good", namespace).await;

    proxy.heal();
    assert_flows(cluster, &stack.hub, "lost", namespace).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_without_permission_is_shown_and_the_others_flow() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("denied").await.unwrap();
    let limited = cluster.kubeconfig_for("limited").unwrap();
    let role = ["create", "clusterrole", "limited", "--verb=list,watch", "--resource=configmaps"];
    cluster.kubectl(&role).await.unwrap();
    let bind = ["create", "clusterrolebinding", "limited", "--clusterrole=limited", "--user=limited"];
    cluster.kubectl(&bind).await.unwrap();
    let accounts = json!([{ "name": "limited", "kubeconfigFile": limited }, account("good", cluster)]);
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap", "Pod"], accounts).await;

    stack.synced("limited").await;
    let watches = stack.agent.get("/watches").await.unwrap()["limited"].clone();
    assert_eq!(watches["watching"][0]["kind"], "ConfigMap");
    assert_eq!(watches["denied"][0]["kind"], "Pod");
    assert!(watches["denied"][0]["error"].as_str().unwrap().contains("forbidden"), "{watches}");
    shown_problem(&stack.agent, "limited", &["Pod", "forbidden"]).await;
    assert!(stack.agent.daemon().log().contains("not allowed to list and watch"));
    assert_eq!(stack.metric("spindrift_agent_watches_denied").await, 1);
    for account in ["limited", "good"] {
        assert_flows(cluster, &stack.hub, account, namespace).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_a_second_cluster_claims_is_refused_on_both_sides() {
    let cluster = Cluster::shared().await.unwrap();
    let second = cluster.sibling().await.unwrap();
    let namespace = &cluster.namespace("claimed").await.unwrap();
    let namespace_there = &second.namespace("claimed").await.unwrap();
    let stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    assert_flows(cluster, &stack.hub, "main", namespace).await;

    let accounts = json!([account("main", &second), account("second", &second)]);
    let rival = AgentProcess::start("agent-b", stack.hub.grpc(), &accounts).unwrap();
    assert_flows(&second, &stack.hub, "second", namespace_there).await;
    shown_problem(&rival, "main", &["account main belongs to cluster", &cluster.url(), &second.url()]).await;
    let accounts = stack.hub.get("/v1/accounts").await.unwrap();
    let main = accounts.as_array().unwrap().iter().find(|account| account["name"] == "main").unwrap();
    assert_eq!((&main["host"], &main["cachedBy"]), (&json!(cluster.url()), &json!("agent-a")));
    let problem = main["problem"].as_str().unwrap();
    for part in ["agent agent-b claims the name for another cluster", &second.url()] {
        assert!(problem.contains(part), "{problem}");
    }
    assert!(stack.hub.daemon().log().contains("account refused"));

    assert_flows(cluster, &stack.hub, "main", namespace).await;
    let intruders = [("account", "main"), ("namespace", namespace_there)];
    assert_eq!(stack.hub.objects(&intruders).await.unwrap(), []);
}
