//! Single objects that are hard to take: too large for one message, unreadable, refused by the database.

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Database, Engine, eventually, scratch};

use super::{arrives, assert_flows, line, shown_problem};
use crate::{
    plain_proxy::PlainProxy,
    stall::Stall,
    support::{LONG, Stack, account, config_maps, widget_crd},
};

/// Just below etcd's limit (1.5 MiB).
const LARGE: usize = 1_400_000;

/// A trigger that refuses the object `refused`.
fn trigger(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => {
            "CREATE TRIGGER refuse BEFORE INSERT ON spindrift_object WHEN NEW.name = 'refused'
             BEGIN SELECT RAISE(ABORT, 'not this one'); END"
        }
        Engine::Postgres => {
            "CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$
             LANGUAGE plpgsql;
             CREATE TRIGGER refuse BEFORE INSERT ON spindrift_object FOR EACH ROW
             WHEN (NEW.name = 'refused') EXECUTE FUNCTION refuse()"
        }
        Engine::MariaDb => {
            "CREATE TRIGGER refuse BEFORE INSERT ON spindrift_object FOR EACH ROW
             IF NEW.name = 'refused' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF"
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_the_database_never_commits_holds_up_no_other() {
    let cluster = Cluster::shared().await.unwrap();
    // SQLite has one writer, and no statement that takes longer than it allows.
    for database in [Database::postgres().await.unwrap(), Database::mariadb().await.unwrap()] {
        let namespace = &cluster.namespace("stuck").await.unwrap();
        let limited = |name: &str| json!({ "name": name, "kubeconfigFile": cluster.kubeconfig(), "namespaces": [namespace] });
        let accounts = json!([limited("stuck"), limited("good")]);
        let stack = Stack::with_accounts(database, &["ConfigMap"], accounts).await;
        for account in ["stuck", "good"] {
            assert_flows(cluster, &stack.hub, account, namespace).await;
        }
        let stall = Stall::new(&stack, "stuck").await;
        for _ in 0..3 {
            assert_flows(cluster, &stack.hub, "good", namespace).await;
        }
        stall.holds_back_a_batch().await;
        assert_eq!(stack.account("stuck").await["cachedBy"], "agent-a", "it is waited for, and not dropped");
        stall.end().await;
        assert_flows(cluster, &stack.hub, "stuck", namespace).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_object_arrives_whole() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("large").await.unwrap();
    // A ConfigMap may not be larger than 1 MiB; custom resources have no limit but etcd's.
    let group = "large.example.com";
    cluster.kubectl_stdin(&["apply", "-f", "-"], &widget_crd(group).to_string()).await.unwrap();
    let established =
        ["wait", "--for=condition=established", "crd/widgets.large.example.com", "--timeout=30s"];
    cluster.kubectl(&established).await.unwrap();
    let payload: String = std::iter::repeat_with(fastrand::alphanumeric).take(LARGE).collect();
    let large = json!({
        "apiVersion": format!("{group}/v1"),
        "kind": "Widget",
        "metadata": { "name": "large", "namespace": namespace },
        "spec": { "payload": payload },
    })
    .to_string();
    eventually!("it can be made", LONG, cluster.kubectl_stdin(&["create", "-f", "-"], &large).await);

    for database in Database::all().await.unwrap() {
        let engine = database.engine();
        let kinds = ["ConfigMap", "Widget.large.example.com"];
        let stack = Stack::with_accounts(database, &kinds, json!([account("good", cluster)])).await;
        let query = [("account", "good"), ("kind", "Widget.large.example.com"), ("namespace", namespace)];
        let stored = eventually!(format!("it is in {engine}"), LONG, {
            stack.hub.objects(&query).await.unwrap().pop()
        });
        let whole = stored.object["spec"]["payload"].as_str() == Some(&payload);
        assert!(whole, "{engine} holds another payload");
        assert_flows(cluster, &stack.hub, "good", namespace).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_cannot_be_read_is_counted_and_the_others_arrive() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("unreadable").await.unwrap();
    let proxy = PlainProxy::open(cluster).await;
    // Breaks the JSON of one object, and not the length of anything.
    proxy.tampering.rewrite(b"\"marker-x\"", b"\"marker-\"x").unwrap();
    let directory = scratch("proxy").unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    std::fs::write(&kubeconfig, proxy.kubeconfig().to_string()).unwrap();
    let accounts = json!([{ "name": "bad", "kubeconfigFile": kubeconfig }, account("good", cluster)]);
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], accounts).await;
    assert_flows(cluster, &stack.hub, "bad", namespace).await;

    let marked = ["create", "configmap", "marked", "-n", namespace, "--from-literal=key=marker-x"];
    cluster.kubectl(&marked).await.unwrap();
    let bad = shown_problem(&stack.agent, "bad", &["ConfigMap", "could not be read"]).await;
    assert!(bad["UnparseableEvents"].as_u64().unwrap() > 0, "{bad}");
    assert!(stack.metric("spindrift_agent_unparseable_events_total").await > 0);
    let log = stack.agent.daemon().log();
    assert!(log.contains("an event could not be read"));
    assert!(!log.contains("marker-"), "the log quotes an object");
    for account in ["good", "bad"] {
        assert_flows(cluster, &stack.hub, account, namespace).await;
    }
    arrives(&stack.hub, "good", namespace, "marked").await;
    let query = [("account", "bad"), ("namespace", namespace), ("name", "marked")];
    assert_eq!(stack.hub.objects(&query).await.unwrap(), [], "what could not be read is not stored");

    // After some listings it is left out; then its changes are counted, and cost no listing.
    let relists = async || stack.metric("spindrift_agent_relists_total{reason=\"unreadable\"}").await;
    let unread = async || line(&stack.agent, "bad").await.unwrap()["UnparseableEvents"].as_u64().unwrap();
    eventually!("it is left out", LONG, relists().await >= 3);
    stack.synced("bad").await;
    let (listed, counted) = (relists().await, unread().await);
    for count in 1..=2 {
        let label = format!("count={count}");
        cluster
            .kubectl(&["label", "--overwrite", "configmap", "marked", &label, "-n", namespace])
            .await
            .unwrap();
        eventually!("the change is counted", LONG, unread().await >= counted + count);
    }
    assert_flows(cluster, &stack.hub, "bad", namespace).await;
    assert_eq!(relists().await, listed);

    // The proxy is repaired; the object's next change is read.
    proxy.tampering.heal();
    cluster.kubectl(&["label", "configmap", "marked", "proxy=repaired", "-n", namespace]).await.unwrap();
    arrives(&stack.hub, "bad", namespace, "marked").await;
    assert_eq!(line(&stack.agent, "good").await.unwrap()["UnparseableEvents"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_the_database_refuses_is_named_and_the_others_are_stored() {
    let cluster = Cluster::shared().await.unwrap();
    for database in Database::all().await.unwrap() {
        let engine = database.engine();
        let namespace = &cluster.namespace("refused").await.unwrap();
        let accounts = json!([account("good", cluster), account("other", cluster)]);
        let stack = Stack::with_accounts(database, &["ConfigMap"], accounts).await;
        stack.database.execute(trigger(engine)).await.unwrap();

        let mut manifest: Value = serde_json::from_str(&config_maps(namespace, "taken", 20, "x")).unwrap();
        manifest["items"][10]["metadata"]["name"] = json!("refused");
        cluster.kubectl_stdin(&["create", "-f", "-"], &manifest.to_string()).await.unwrap();
        for account in ["good", "other"] {
            let refused = format!("ConfigMap {namespace}/refused");
            let line = shown_problem(&stack.agent, account, &[&refused, "not this one"]).await;
            assert_eq!(line["RejectedObjects"], 1, "{engine}: {line}");
            let query = [("account", account), ("namespace", namespace), ("labelSelector", "batch=taken")];
            eventually!(format!("{engine} has the others"), LONG, {
                stack.hub.objects(&query).await.unwrap().len() == 19
            });
            assert_flows(cluster, &stack.hub, account, namespace).await;
        }
        assert_eq!(stack.hub.metric("spindrift_hub_objects_rejected_total").await.unwrap(), 2, "{engine}");
        let log = stack.hub.daemon().log();
        let named = |line: &str| line.contains("the store refused an object") && line.contains("refused");
        assert!(log.lines().any(named), "{engine}");
        // The next database lists the same cluster.
        cluster.kubectl(&["delete", "configmap", "refused", "-n", namespace]).await.unwrap();
    }
}
