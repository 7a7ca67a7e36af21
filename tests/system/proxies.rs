//! An agent behind a company's proxy.

use serde_json::json;
use spindrift_testkit::{
    Cluster, ConnectProxy, Daemon, Database, HubProcess, Manners, binary, eventually, free_port, scratch,
};

use crate::support::{LONG, account};

#[tokio::test]
async fn the_hub_is_reached_through_a_proxy_of_the_environment() {
    let cluster = Cluster::shared().await.unwrap();
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &[]).await.unwrap();
    let proxy = ConnectProxy::start(hub.grpc(), Manners::Wants("ZXZlOmh1c2g=")).await.unwrap();
    let directory = scratch("agent").unwrap();
    let file = directory.path().join("armory-agent.yml");
    let start = |password: &str, no_proxy: bool| {
        let config = json!({
            // Only the proxy resolves this name. The API server is local, and reached without it.
            "clouddriver": { "grpc": "hub.example:9091", "noProxy": no_proxy },
            "kubernetes": { "accounts": [account("main", cluster)] },
            "server": { "host": "127.0.0.1", "port": free_port() },
        });
        std::fs::write(&file, config.to_string()).unwrap();
        let proxy = format!("http://eve:{password}@{}", proxy.addr());
        let env = [("HOSTNAME", "agent-a"), ("https_proxy", proxy.as_str())];
        let arguments = ["--config", &file.display().to_string()];
        Daemon::spawn(binary("spindrift-agent").unwrap(), &arguments, &env).unwrap()
    };

    let stranger = start("guess", false);
    stranger.wait_for_log("wants other credentials (407)").await.unwrap();
    assert!(!stranger.log().contains("guess"), "{}", stranger.log());
    stranger.kill();
    let asked = proxy.asked().len();
    let stubborn = start("hush", true);
    stubborn.wait_for_log("connect to the hub at hub.example:9091").await.unwrap();
    stubborn.kill();
    assert_eq!(proxy.asked().len(), asked, "clouddriver.noProxy is obeyed");

    let agent = start("hush", false);
    eventually("the hub knows the account", LONG, || async {
        let accounts = reqwest::get(format!("{}/v1/accounts", hub.url())).await?.text().await?;
        anyhow::ensure!(accounts.contains("\"main\""), "{accounts} {}", agent.log());
        Ok(())
    })
    .await;
    assert!(proxy.asked().iter().all(|asked| asked == "hub.example:9091"), "{:?}", proxy.asked());
    assert!(!agent.log().contains("hush"), "{}", agent.log());
}
