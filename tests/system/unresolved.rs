//! Settings that cannot be resolved stop whatever needs them; no weaker default takes their place.

use std::fs;

use serde_json::json;
use spindrift_testkit::{Cluster, Daemon, Database, PATIENCE, binary, eventually, scratch};

use crate::support::{LONG, Stack, account};

const VAULT: &str = "encrypted:vault!e:kv!p:spindrift!k:value";
const VAULT_FILE: &str = "encryptedFile:vault!e:kv!p:spindrift!k:value";

/// Starts a daemon that has to exit with an error, and returns its output.
async fn refuses(program: &str, config: &str) -> String {
    let directory = scratch("unresolved").unwrap();
    let file = directory.path().join("config.yml");
    fs::write(&file, config).unwrap();
    let arguments = ["--config", file.to_str().unwrap()];
    let daemon = Daemon::spawn(binary(program).unwrap(), &arguments, &[("HOSTNAME", "here")]).unwrap();
    let status = daemon.exit(PATIENCE).await.unwrap_or_else(|_| panic!("it runs with {config}"));
    assert!(!status.success(), "{config}: {}", daemon.log());
    daemon.log()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_does_not_start_without_a_secret_that_its_security_needs() {
    let here = "server: { host: 127.0.0.1, port: 0 }";
    let hub = |more: &str| {
        let grpc = "address: 127.0.0.1, port: 0";
        format!(
            "{here}\nsql: {{ url: 'sqlite::memory:' }}\nkubesvc: {{ grpc: {{ server: {{ {grpc}, {more} }} }} }}\n"
        )
    };
    let agent = |more: &str| format!("{here}\nclouddriver: {{ grpc: '127.0.0.1:1', {more} }}\n");
    for (program, config, key) in [
        ("spindrift-hub", format!("{here}\nsql: {{ url: '{VAULT}' }}\n"), "sql.url"),
        (
            "spindrift-hub",
            hub(&format!("security: {{ enabled: '{VAULT}' }}")),
            "kubesvc.grpc.server.security.enabled",
        ),
        (
            "spindrift-hub",
            hub(&format!("security: {{ trustCertCollection: '{VAULT_FILE}' }}")),
            "kubesvc.grpc.server.security.trustCertCollection",
        ),
        (
            "spindrift-hub",
            hub("security: { clientAuth: SOMETIMES }"),
            "kubesvc.grpc.server.security.clientAuth",
        ),
        ("spindrift-hub", hub("security: { enable: true }"), "kubesvc.grpc.server.security.enable"),
        ("spindrift-hub", hub("securty: { enabled: true }"), "kubesvc.grpc.server.securty"),
        (
            "spindrift-agent",
            agent(&format!("tls: {{ cacertFile: '{VAULT_FILE}' }}")),
            "clouddriver.tls.cacertFile",
        ),
        ("spindrift-agent", agent(&format!("insecure: '{VAULT}'")), "clouddriver.insecure"),
        ("spindrift-agent", agent(&format!("auth: {{ token: '{VAULT}' }}")), "clouddriver.auth.token"),
        ("spindrift-agent", agent("tls: { caFiles: /etc/ca.pem }"), "clouddriver.tls.caFiles"),
        ("spindrift-agent", agent("insecur: false"), "clouddriver.insecur"),
        ("spindrift-agent", agent("tls: { cacertFile: /no/such/file }"), "clouddriver.tls.cacertFile"),
    ] {
        let log = refuses(program, &config).await;
        assert!(log.contains(key), "{config}: {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_without_its_secret_is_not_served_and_others_are() {
    let cluster = Cluster::shared().await.unwrap();
    let accounts = json!([
        { "name": "kubeconfig", "kubeconfigFile": VAULT_FILE },
        { "name": "namespaces", "kubeconfigFile": cluster.kubeconfig(), "namespaces": [VAULT] },
        { "name": "omitted", "kubeconfigFile": cluster.kubeconfig(), "omitNamespaces": ["${NOT_SET}"] },
        account("good", cluster),
    ]);
    let stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], accounts).await;
    stack.synced("good").await;
    let problem = async |name: &str| {
        let accounts = stack.agent.get("/accounts").await.unwrap();
        let found = accounts.as_array().unwrap().iter().find(|line| line["Config"]["Name"] == name).cloned();
        found.unwrap_or_default().to_string()
    };
    for (name, words) in [
        ("kubeconfig", "kubeconfigFile: secrets of the engine `vault` cannot be read"),
        ("namespaces", "namespaces[0]: secrets of the engine `vault` cannot be read"),
        ("omitted", "omitNamespaces: "),
    ] {
        eventually!("the reason is shown", LONG, problem(name).await.contains(words));
    }
    let shown = stack.hub.get("/v1/accounts").await.unwrap();
    for account in shown.as_array().unwrap() {
        let is_served = account["name"] == "good";
        assert_eq!(account["cachedBy"].is_string(), is_served, "{account}");
    }
}
