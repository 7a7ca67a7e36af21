//! After every fault the hub converges to exactly the objects of the API server.

use std::time::Duration;

use serde_json::json;
use spindrift_testkit::{AgentProcess, Cluster, Database, HubProcess, assert_converged, eventually};

use crate::{
    stall::Stall,
    support::{CONFIG_MAPS, LONG, Stack, account, config_maps, widget, widget_crd},
};

/// Number of objects that change while things break.
const OBJECTS: usize = 500;

/// Counter of the batches that the hub refused because their attachment was over.
const STALE: &str = "spindrift_hub_batches_stale_total";

const SESSIONS: &str = "spindrift_hub_sessions";

/// Changes all objects, deletes some and makes others, in a few kubectl calls: a storm of single events.
async fn storm(cluster: &Cluster, namespace: &str, round: &str) {
    let apply = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    cluster.kubectl_stdin(&apply, &config_maps(namespace, "steady", OBJECTS, round)).await.unwrap();
    cluster
        .kubectl_stdin(&apply, &config_maps(namespace, &format!("brief-{round}"), 20, round))
        .await
        .unwrap();
    let selector = format!("batch=brief-{round}");
    cluster
        .kubectl(&["delete", "configmap", "-n", namespace, "-l", &selector, "--wait=false"])
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_hub_and_link_may_break_while_objects_change() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    for database in Database::all().await.unwrap() {
        let engine = database.engine();
        let namespace = cluster.namespace("storm").await.unwrap();
        let mut stack = Stack::start(&cluster, database, &["ConfigMap"]).await;
        storm(&cluster, &namespace, "start").await;
        assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;

        let ((), ()) = tokio::join!(storm(&cluster, &namespace, "agent"), async {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_millis(700)).await;
                stack.agent.restart().unwrap();
            }
        });
        assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;

        let ((), ()) = tokio::join!(storm(&cluster, &namespace, "hub"), async {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_millis(700)).await;
                stack.hub.restart().await.unwrap();
            }
        });
        assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;

        let ((), ()) = tokio::join!(storm(&cluster, &namespace, "link"), async {
            for _ in 0..3 {
                tokio::time::sleep(Duration::from_millis(500)).await;
                stack.link.cut();
                tokio::time::sleep(Duration::from_millis(300)).await;
                stack.link.heal();
            }
        });
        assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;
        println!("{engine:?}: converged after agent kills, hub kills and cuts");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_while_the_agent_was_down_are_found_even_after_a_compaction() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    for database in Database::all().await.unwrap() {
        let namespace = cluster.namespace("down").await.unwrap();
        let group = format!("{namespace}.example.com");
        cluster.kubectl_stdin(&["apply", "-f", "-"], &widget_crd(&group).to_string()).await.unwrap();
        let crd = format!("crd/widgets.{group}");
        cluster.kubectl(&["wait", "--for=condition=established", &crd, "--timeout=30s"]).await.unwrap();
        let one = widget(&group, &namespace, "gear", 1).to_string();
        eventually!("the widget can be made", cluster.kubectl_stdin(&["apply", "-f", "-"], &one).await);

        let kinds = ["ConfigMap", "ServiceAccount", "Widget"];
        let service_accounts = ("", "v1", "ServiceAccount", "serviceaccounts");
        let widgets = (group.as_str(), "v1", "Widget", "widgets");
        let mut stack = Stack::start(&cluster, database, &kinds).await;
        cluster.kubectl(&["create", "serviceaccount", "robot", "-n", &namespace]).await.unwrap();
        storm(&cluster, &namespace, "start").await;
        assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS, service_accounts, widgets]).await;

        // The agent is away: objects go, others come, a CRD goes, a kind is omitted, history is forgotten.
        stack.agent.kill();
        let selector = ["delete", "configmap", "-n", &namespace, "-l", "batch=steady", "--wait=false"];
        cluster.kubectl(&selector).await.unwrap();
        cluster
            .kubectl_stdin(&["create", "-f", "-"], &config_maps(&namespace, "new", 30, "x"))
            .await
            .unwrap();
        cluster.kubectl(&["delete", &crd, "--wait=false"]).await.unwrap();
        eventually!("the CRD is gone", LONG, cluster.kubectl(&["get", &crd]).await.is_err());
        cluster.compact().await.unwrap();
        cluster.restart_api_server().await.unwrap();
        stack.agent.configure(|settings| {
            settings["kubernetes"]["accounts"][0]["omitKinds"] = json!(["serviceAccount"]);
        });
        stack.agent.restart().unwrap();
        assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;

        // The omitted kind is wanted again.
        stack.agent.configure(|settings| settings["kubernetes"]["accounts"][0]["omitKinds"] = json!([]));
        stack.agent.restart().unwrap();
        assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS, service_accounts]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_gets_410_lists_again_and_converges() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let database = Database::postgres().await.unwrap();
    let namespace = cluster.namespace("gone").await.unwrap();
    let mut stack = Stack::start(&cluster, database, &["ConfigMap"]).await;
    storm(&cluster, &namespace, "start").await;
    assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;

    // While the agent is frozen its resource version grows old; then etcd compacts it.
    stack.agent.daemon().freeze().unwrap();
    storm(&cluster, &namespace, "frozen").await;
    cluster.compact().await.unwrap();
    cluster.restart_api_server().await.unwrap();
    stack.agent.daemon().thaw().unwrap();
    storm(&cluster, &namespace, "thawed").await;
    assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;
    stack.agent.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_arrives_late_within_one_hub_is_never_written() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    let namespace = cluster.namespace("late").await.unwrap();
    let stack = Stack::start(&cluster, Database::postgres().await.unwrap(), &["ConfigMap"]).await;
    storm(&cluster, &namespace, "start").await;
    assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;
    // Started now, so that it is the standby.
    let successor =
        AgentProcess::start("agent-b", stack.hub.grpc(), &json!([account("main", &cluster)])).unwrap();
    eventually!("both agents are connected", LONG, stack.hub.metric(SESSIONS).await.unwrap() == 2);
    assert_eq!(stack.account("main").await["cachedBy"], "agent-a");

    // The store keeps the batches of a storm waiting; meanwhile the link breaks, and another agent attaches.
    let stall = Stall::new(&stack, "main").await;
    storm(&cluster, &namespace, "held-back").await;
    stall.holds_back_a_batch().await;
    stack.link.cut();
    eventually!("agent-b takes over", LONG, stack.account("main").await["cachedBy"] == "agent-b");
    storm(&cluster, &namespace, "taken-over").await;

    // The store commits again: now at the latest, the batches of the first attachment reach the fence.
    stall.end().await;
    eventually!("the late batches are refused", LONG, stack.hub.metric(STALE).await.unwrap() >= 1);
    assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;
    let before = stack.hub.objects(&[("account", "main"), ("limit", "1000")]).await.unwrap();

    // The first agent comes back, and finds the account taken.
    stack.link.heal();
    eventually!("both agents are connected", LONG, stack.hub.metric(SESSIONS).await.unwrap() == 2);
    let after = stack.hub.objects(&[("account", "main"), ("limit", "1000")]).await.unwrap();
    assert_eq!(before, after, "nothing is written behind the successor's back");
    assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;
    drop(successor);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_a_second_hub_delivers_late_is_never_written() {
    let cluster = Cluster::builder().bare().start().await.unwrap();
    for database in [Database::postgres().await.unwrap(), Database::mariadb().await.unwrap()] {
        let namespace = cluster.namespace("late").await.unwrap();
        let stack = Stack::start(&cluster, database, &["ConfigMap"]).await;
        storm(&cluster, &namespace, "start").await;
        assert_converged(&cluster, &stack.hub, "main", &[CONFIG_MAPS]).await;

        // The first hub is frozen in the middle of a storm, with batches in its memory and in its sockets.
        let stall = Stall::new(&stack, "main").await;
        storm(&cluster, &namespace, "frozen").await;
        stall.holds_back_a_batch().await;
        stack.hub.daemon().freeze().unwrap();

        // Another agent takes the account over through a second hub, and everything changes again.
        let settings = [("/kubesvc/cache/cacheKinds", json!(["ConfigMap"]))];
        let second = HubProcess::start("hub-b", &stack.database, &settings).await.unwrap();
        let accounts = json!([account("main", &cluster)]);
        let _successor = AgentProcess::start("agent-b", second.grpc(), &accounts).unwrap();
        eventually!("agent-b takes over", LONG, {
            let accounts = second.get("/v1/accounts").await.unwrap();
            accounts[0]["cachedBy"] == "agent-b"
        });
        stall.end().await;
        storm(&cluster, &namespace, "taken-over").await;
        assert_converged(&cluster, &second, "main", &[CONFIG_MAPS]).await;
        let before = second.objects(&[("account", "main"), ("limit", "1000")]).await.unwrap();

        // The first hub wakes up and tries to write the batches that it holds.
        stack.hub.daemon().thaw().unwrap();
        eventually!("its batches are refused", LONG, stack.hub.metric(STALE).await.unwrap() >= 1);
        let after = second.objects(&[("account", "main"), ("limit", "1000")]).await.unwrap();
        assert_eq!(before, after, "nothing is written behind the successor's back");
        assert_converged(&cluster, &second, "main", &[CONFIG_MAPS]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_account_is_served_when_its_name_is_free() {
    let cluster = Cluster::shared().await.unwrap();
    let other = Cluster::builder().bare().start().await.unwrap();
    let mut stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    stack.synced("main").await;
    let accounts = json!([account("main", &other)]);
    let mut second = AgentProcess::start("agent-b", stack.hub.grpc(), &accounts).unwrap();
    // Accounts are offered again with every twelfth ping.
    second.configure(|all| all["clouddriver"]["keepAliveHeartbeatSeconds"] = json!(1));
    second.restart().unwrap();
    eventually!("the hub refuses the account", LONG, {
        let accounts = second.get("/accounts").await?;
        let problems = accounts[0]["Problems"].to_string();
        anyhow::ensure!(problems.contains("belongs to cluster"), "{accounts}");
        Ok(())
    });
    let connections = second.metric("kubesvc_connection_count").await.unwrap();

    stack.agent.kill();
    stack.database.execute("DELETE FROM spindrift_account WHERE name = 'main'").await.unwrap();
    eventually!("the other cluster's is taken", LONG, stack.account("main").await["cachedBy"] == "agent-b");
    let now = second.metric("kubesvc_connection_count").await.unwrap();
    assert_eq!(now, connections, "in the same session");
}
