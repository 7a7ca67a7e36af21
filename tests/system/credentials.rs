//! Credentials that are written into the agent's configuration.

use std::fs;

use serde_json::json;
use spindrift_testkit::{Cluster, Daemon, Database, HubProcess, binary, eventually, free_port, scratch};

use crate::support::LONG;

#[tokio::test(flavor = "multi_thread")]
async fn credentials_in_the_configuration_are_used_and_no_file_has_them() {
    let cluster = Cluster::shared().await.unwrap();
    let kubeconfig = fs::read_to_string(cluster.kubeconfig()).unwrap();
    let database = Database::sqlite().unwrap();
    let settings = [("/kubesvc/cache/cacheKinds", json!(["Namespace"]))];
    let hub = HubProcess::start("hub-a", &database, &settings).await.unwrap();
    let directory = scratch("written").unwrap();
    let temporary = directory.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let file = directory.path().join("armory-agent.yml");
    let accounts = json!([
        { "name": "contents", "kubeconfigContents": kubeconfig },
        { "name": "reference", "kubeconfigFile": format!("encryptedFile:noop!v:{kubeconfig}") },
        { "name": "broken", "kubeconfigContents": "hunter2: [" },
    ]);
    let config = json!({
        "clouddriver": { "grpc": hub.grpc() },
        "kubernetes": { "accounts": accounts },
        "server": { "host": "127.0.0.1", "port": free_port() },
    });
    fs::write(&file, config.to_string()).unwrap();
    let env = [("HOSTNAME", "agent-a"), ("TMPDIR", temporary.to_str().unwrap())];
    let arguments = ["--config", file.to_str().unwrap()];
    let agent = Daemon::spawn(binary("spindrift-agent").unwrap(), &arguments, &env).unwrap();
    for account in ["contents", "reference"] {
        eventually!(format!("{account} is cached"), LONG, {
            hub.objects(&[("account", account), ("name", "default")]).await.unwrap().len() == 1
        });
    }
    agent.wait_for_log("load kubeconfigContents: line 1 is not YAML of the expected form").await.unwrap();
    assert!(!agent.log().contains("hunter2"));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "nothing was put aside");
}
