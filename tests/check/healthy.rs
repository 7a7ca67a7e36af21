//! A healthy installation: nothing but good lines, from both daemons, before and while they run.

use serde_json::json;
use spindrift_testkit::{AgentProcess, Cluster, Database, HubProcess, PATIENCE, eventually, free_port};

use crate::support::{KEY, Page, rest, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_healthy_installation_has_only_good_lines() {
    let cluster = Cluster::shared().await.unwrap();
    let database = Database::postgres().await.unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let accounts = json!([{ "name": "main", "kubeconfigFile": cluster.kubeconfig() }]);
    let mut agent = json!({
        "clouddriver": { "grpc": hub.grpc().to_string() },
        "kubernetes": { "accounts": accounts },
        "server": { "host": "127.0.0.1", "port": free_port() },
    });
    let page = Page::of_agent(&agent).await;
    page.all_well();
    let good = [
        "configuration: files",
        "configuration: keys",
        "configuration: values",
        "configuration: accounts",
        "account main: credentials",
        "account main: dns",
        "account main: dial",
        "account main: tls",
        "account main: certificate",
        "account main: version",
        "account main: clock",
        "account main: identity",
        "account main: rbac",
        "account main: cluster",
        "hub: address",
        "hub: dns",
        "hub: dial",
        "hub: proxy",
        "hub: tls",
        "hub: http2",
        "hub: grpc",
        "hub: protocol",
        "hub: clock",
        "endpoints: health",
    ];
    assert_eq!(page.shape(), good.map(|line| format!("{line} ok")));

    let config = json!({
        "kubesvc": {
            "grpc": { "server": { "address": "127.0.0.1", "port": hub.grpc().port() } },
            "operations": { "encryption": { "key": KEY } },
        },
        "server": { "host": "127.0.0.1", "port": rest(&hub).port() },
        "sql": { "url": database.url() },
    });
    let page = Page::of_hub(&config).await;
    page.all_well();
    let good = [
        "configuration: files",
        "configuration: keys",
        "configuration: values",
        "database: url",
        "database: dns",
        "database: dial",
        "database: login",
        "database: server",
        "database: schema",
        "database: write",
        "database: latency",
        "database: clock",
        "database: connections",
        "operations: key",
        "tls: files",
        "ports: rest",
        "ports: grpc",
    ];
    assert_eq!(page.shape(), good.map(|line| format!("{line} ok")));
    page.ok("database", "server", "PostgreSQL 1");
    page.ok("ports", "rest", "a hub runs");

    let (text, code) = run("spindrift-hub", &config.to_string(), &[]).await;
    assert_eq!(code, Some(0));
    assert!(text.starts_with("spindrift-hub 0.1.0\n\nconfiguration\n  ok       files   "), "{text}");
    assert!(text.ends_with("\n17 ok, 0 warn, 0 wrong, 0 skipped\n"), "{text}");
    assert_eq!(run("spindrift-hub", &config.to_string(), &["--quiet"]).await, (String::new(), Some(0)));

    // The check beside an agent that runs does not disturb it.
    let running = AgentProcess::start("agent-a", hub.grpc(), &accounts).unwrap();
    eventually("the agent is connected", PATIENCE, || async {
        let health = running.get("/health").await?;
        anyhow::ensure!(health["hub"] == "connected", "{health}");
        Ok(())
    })
    .await;
    agent["server"]["port"] = json!(running.port());
    let page = Page::of_agent(&agent).await;
    page.all_well();
    page.ok("endpoints", "health", "an agent runs");
    assert_eq!(running.get("/health").await.unwrap()["hub"], "connected");
}
