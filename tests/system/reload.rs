//! The agent's configuration changes while it runs.

use std::{fs, path::Path};

use serde_json::{Value, json};
use spindrift_testkit::{
    AgentProcess, Cluster, Daemon, Database, HubProcess, binary, eventually, free_port, scratch,
};

use crate::support::{LONG, Stack, account};

/// Counter of the connections that an agent made.
const CONNECTIONS: &str = "kubesvc_connection_count";

/// Counter of the registrations that a hub accepted.
const REGISTRATIONS: &str = "spindrift_hub_registrations_total";

/// A ConfigMap that is created now arrives under the account.
async fn assert_flows(cluster: &Cluster, hub: &HubProcess, account: &str, namespace: &str) {
    let name = format!("flows-{}", fastrand::u64(..));
    cluster.kubectl(&["create", "configmap", &name, "-n", namespace]).await.unwrap();
    let query = [("account", account), ("namespace", namespace), ("name", &name)];
    eventually!(format!("{name} arrives under {account}"), LONG, {
        hub.objects(&query).await.unwrap().len() == 1
    });
}

/// Names of the agent's accounts.
async fn names(agent: &AgentProcess) -> Vec<String> {
    let accounts = agent.get("/accounts").await.unwrap();
    let names =
        accounts.as_array().unwrap().iter().map(|account| account["Config"]["Name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

/// Number of times that the agent attached an account.
fn attachments(agent: &AgentProcess, account: &str) -> usize {
    let of_account = format!("account={account} ");
    let log = agent.daemon().log();
    log.lines().filter(|line| line.contains("msg=\"account attached\"") && line.contains(&of_account)).count()
}

async fn cached_by(hub: &HubProcess, account: &str) -> Value {
    let accounts = hub.get("/v1/accounts").await.unwrap();
    let found = accounts.as_array().unwrap().iter().find(|line| line["name"] == account);
    found.map_or(Value::Null, |line| line["cachedBy"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_come_change_and_go_and_the_others_feel_nothing() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("reload").await.unwrap();
    let accounts =
        json!([account("steady", cluster), account("changing", cluster), account("leaving", cluster)]);
    let mut stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], accounts).await;
    for name in ["steady", "changing", "leaving"] {
        stack.synced(name).await;
    }
    let before = stack.agent.get("/watches").await.unwrap()["steady"].clone();

    // Three changes in quick succession: only the last one counts.
    let changed = |context: &str| {
        let mut changing = account("changing", cluster);
        changing["namespaces"] = json!([context]);
        json!([account("steady", cluster), account("coming", cluster), changing])
    };
    for namespaces in ["one", "two", namespace] {
        let accounts = changed(namespaces);
        stack.agent.reconfigure(|settings| settings["kubernetes"]["accounts"] = accounts).unwrap();
    }
    eventually!("the accounts are those of the file", LONG, {
        names(&stack.agent).await == ["changing", "coming", "steady"]
    });
    for name in ["steady", "changing", "coming"] {
        assert_flows(cluster, &stack.hub, name, namespace).await;
    }
    eventually!("the change holds", LONG, {
        let watches = stack.agent.get("/watches").await.unwrap();
        watches["changing"]["watching"][0]["namespace"] == **namespace
    });
    eventually!("nobody caches what has left", LONG, cached_by(&stack.hub, "leaving").await.is_null());
    assert_eq!(cached_by(&stack.hub, "changing").await, "agent-a");

    // The account that stayed has been attached once and listed once: its watches are the ones of the start.
    assert_eq!(attachments(&stack.agent, "steady"), 1);
    assert_eq!(stack.agent.get("/watches").await.unwrap()["steady"], before);
    assert_eq!(stack.agent.metric(CONNECTIONS).await.unwrap(), 1, "the session is the same");

    // One that has left may come back.
    let accounts = json!([account("steady", cluster), account("leaving", cluster)]);
    stack.agent.reconfigure(|settings| settings["kubernetes"]["accounts"] = accounts).unwrap();
    assert_flows(cluster, &stack.hub, "leaving", namespace).await;
    assert_eq!(names(&stack.agent).await, ["leaving", "steady"]);
    assert_eq!(attachments(&stack.agent, "steady"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn forty_accounts_may_leave_and_come_at_once_in_one_session() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("many").await.unwrap();
    let many: Vec<_> = (0..40).map(|number| account(&format!("many-{number}"), cluster)).collect();
    let accounts: Value = many.iter().cloned().chain([account("steady", cluster)]).collect();
    let mut stack = Stack::with_accounts(Database::sqlite().unwrap(), &["ConfigMap"], accounts.clone()).await;
    stack.synced("many-39").await;
    stack.synced("steady").await;

    let alone = json!([account("steady", cluster)]);
    stack.agent.reconfigure(|settings| settings["kubernetes"]["accounts"] = alone).unwrap();
    eventually!("no agent caches the others", LONG, {
        let accounts = stack.hub.get("/v1/accounts").await.unwrap();
        accounts.as_array().unwrap().iter().filter(|account| !account["cachedBy"].is_null()).count() == 1
    });
    assert_eq!(names(&stack.agent).await, ["steady"]);
    stack.agent.reconfigure(|settings| settings["kubernetes"]["accounts"] = accounts).unwrap();
    assert_flows(cluster, &stack.hub, "many-0", namespace).await;
    assert_flows(cluster, &stack.hub, "many-39", namespace).await;
    assert_eq!(attachments(&stack.agent, "steady"), 1);
    assert_eq!(stack.agent.metric(CONNECTIONS).await.unwrap(), 1, "the session is the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_keeps_the_last_good_configuration_and_reports_the_error_until_fixed() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("broken").await.unwrap();
    let mut stack = Stack::start(cluster, Database::sqlite().unwrap(), &["ConfigMap"]).await;
    stack.synced("main").await;
    let file = stack.agent.directory().join("armory-agent.yml");
    let configuration =
        async |agent: &AgentProcess| agent.get("/health").await.unwrap()["configuration"].clone();

    fs::write(&file, "kubernetes:\n  accounts: [\n").unwrap();
    let error = eventually!("the mistake is shown", LONG, {
        configuration(&stack.agent).await["error"].as_str().map(str::to_owned)
    });
    assert!(error.contains("armory-agent.yml:2:13: unclosed bracket"), "{error}");
    let log = stack.agent.daemon().log();
    assert!(log.contains("the configuration cannot be used; the last good one is kept"));
    assert_flows(cluster, &stack.hub, "main", namespace).await;

    // Repaired, with a change that needs a restart; touching the file again changes nothing.
    stack.agent.reconfigure(|settings| settings["prometheus"] = json!({ "enabled": true })).unwrap();
    eventually!("the mistake is gone", LONG, configuration(&stack.agent).await.get("error").is_none());
    let shown = configuration(&stack.agent).await;
    assert_eq!(shown["restartNeeded"], json!(["prometheus.enabled"]), "{shown}");
    assert!(stack.agent.daemon().log().contains("prometheus.enabled has changed: restart needed"));
    stack.agent.reconfigure(|_| {}).unwrap();
    assert_flows(cluster, &stack.hub, "main", namespace).await;
    assert_eq!(configuration(&stack.agent).await["readAt"], shown["readAt"], "the content is the same");
    assert_eq!(attachments(&stack.agent, "main"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_accounts_an_agent_does_not_register_and_a_legacy_profile_that_appears_brings_one() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("legacy").await.unwrap();
    let settings = [("/kubesvc/cache/cacheKinds", json!(["ConfigMap"]))];
    let database = Database::sqlite().unwrap();
    let hub = HubProcess::start("hub-a", &database, &settings).await.unwrap();
    let home = scratch("home").unwrap();
    let directory = home.path().join(".spinnaker");
    fs::create_dir(&directory).unwrap();
    let port = free_port();
    let base =
        json!({ "clouddriver": { "grpc": hub.grpc() }, "server": { "host": "127.0.0.1", "port": port } });
    write(&directory.join("kubesvc.yaml"), &base);
    let env = [("HOSTNAME", "agent-a"), ("HOME", home.path().to_str().unwrap())];
    let agent = Daemon::spawn(binary("spindrift-agent").unwrap(), &[], &env).unwrap();
    eventually!("the agent runs without accounts", LONG, {
        let accounts = reqwest::get(format!("http://127.0.0.1:{port}/accounts")).await?;
        anyhow::ensure!(accounts.json::<Value>().await? == json!([]));
        Ok(())
    });

    let profile = directory.join("kubesvc-local.yml");
    write(&profile, &json!({ "kubernetes": { "accounts": [account("late", cluster)] } }));
    assert_flows(cluster, &hub, "late", namespace).await;
    assert_eq!(hub.metric(REGISTRATIONS).await.unwrap(), 1, "there was no reason to register before");

    // The profile goes again: the account is withdrawn, and the agent stays where it is.
    fs::remove_file(&profile).unwrap();
    eventually!("no agent caches it", LONG, cached_by(&hub, "late").await.is_null());
    write(&profile, &json!({ "kubernetes": { "accounts": [account("late", cluster)] } }));
    assert_flows(cluster, &hub, "late", namespace).await;
    assert_eq!(hub.metric(REGISTRATIONS).await.unwrap(), 1, "it did not flap");
    assert!(agent.exited().is_none(), "{}", agent.log());
}

fn write(file: &Path, settings: &Value) {
    fs::write(file, settings.to_string()).unwrap();
}
