//! `spindrift up`: the whole system in one process, and nothing that the user did not name.

use std::{
    collections::BTreeSet,
    io,
    net::TcpListener,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Daemon, PATIENCE, binary, eventually, scratch};

use crate::support::LONG;

/// A running `spindrift up`.
struct Up {
    daemon: Daemon,
    rest: String,
    agent: String,
}

// === impl Up ===

impl Up {
    /// Starts it on free ports, far from the user's own kubeconfig.
    async fn start(data_dir: &Path, args: &[&str], kubeconfig: Option<&Path>) -> Self {
        let data_dir = data_dir.to_str().unwrap();
        let ports = ["--port=0", "--grpc-port=0", "--agent-port=0"];
        let args = [&["up", "--data-dir", data_dir], &ports[..], args].concat();
        let kubeconfig = kubeconfig.map_or("/nonexistent", |path| path.to_str().unwrap());
        let env = [("HOSTNAME", "laptop"), ("KUBECONFIG", kubeconfig)];
        let daemon = Daemon::spawn(binary("spindrift").unwrap(), &args, &env).unwrap();
        daemon.wait_for_log("Ctrl-C stops it.").await.unwrap();
        let log = daemon.log();
        let address = |label: &str| {
            let line = log.lines().find(|line| line.split_whitespace().next() == Some(label)).unwrap();
            line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned()
        };
        Self { rest: address("hub"), agent: address("agent"), daemon }
    }

    /// Watches the current context of a real cluster.
    async fn of_cluster(kubeconfig: &Path, data_dir: &Path) -> Self {
        Self::start(data_dir, &["--kubeconfig", kubeconfig.to_str().unwrap()], None).await
    }

    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        Ok(reqwest::get(format!("{}{path}", self.rest)).await?.error_for_status()?.json().await?)
    }

    /// Waits until the object is shown, and gives it.
    async fn shows(&self, namespace: &str, name: &str) -> Value {
        let path = format!("/v1/objects?account=test&kind=deployments&namespace={namespace}&name={name}");
        eventually!("the object is shown", LONG, {
            let page = self.get(&path).await.unwrap();
            page["items"].get(0).cloned().ok_or(page)
        })
    }

    /// Waits until every kind has been listed, so that every one can be resumed.
    async fn watches_everything(&self) {
        eventually!("everything is watched", LONG, {
            let watches: Value = reqwest::get(format!("{}/watches", self.agent)).await?.json().await?;
            let states: Vec<_> =
                watches["test"].as_object().into_iter().flat_map(|states| states.keys()).collect();
            anyhow::ensure!(states == ["watching"], "{watches}");
            Ok(())
        });
    }

    /// The names of the accounts.
    async fn accounts(&self) -> Vec<String> {
        let accounts = self.get("/v1/accounts").await.unwrap();
        accounts.as_array().unwrap().iter().map(|account| account["name"].as_str().unwrap().into()).collect()
    }

    /// Position of an account's feed.
    async fn seq(&self, account: &str) -> u64 {
        let accounts = self.get("/v1/accounts").await.unwrap();
        let found =
            accounts.as_array().unwrap().iter().find(|candidate| candidate["name"] == account).unwrap();
        found["seq"].as_u64().unwrap()
    }

    async fn stop(&self) {
        self.daemon.terminate().unwrap();
        let status = self.daemon.exit(PATIENCE).await.unwrap();
        assert_eq!(status.code(), Some(0), "{}", self.daemon.log());
    }
}

/// Runs the command to its end, far from the user's own kubeconfig.
fn spindrift(args: &[&str], kubeconfig: &Path, home: &Path) -> Output {
    let mut command = Command::new(binary("spindrift").unwrap());
    command.args(args).env("KUBECONFIG", kubeconfig).env("HOME", home).current_dir(home);
    command.output().unwrap()
}

/// A kubeconfig with two contexts, `north` and `south`, of one cluster.
fn two_contexts(server: &str) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "north",
        "clusters": [{ "name": "pole", "cluster": { "server": server } }],
        "users": [{ "name": "penguin", "user": {} }],
        "contexts": [
            { "name": "north", "context": { "cluster": "pole", "user": "penguin" } },
            { "name": "south", "context": { "cluster": "pole", "user": "penguin" } },
        ],
    })
    .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_shows_a_cluster_and_resumes_where_it_stopped() {
    let cluster = Cluster::shared().await.unwrap();
    let namespace = &cluster.namespace("up").await.unwrap();
    let directory = scratch("up").unwrap();
    let data_dir = directory.path().join("data");
    let create = async |name: &str| {
        let deployment = ["create", "deployment", name, "--image=shop:1", "-n", namespace];
        cluster.kubectl(&deployment).await.unwrap();
    };

    let up = Up::of_cluster(cluster.kubeconfig(), &data_dir).await;
    create("before").await;
    let before = up.shows(namespace, "before").await;
    up.watches_everything().await;
    up.stop().await;
    create("between").await;

    let up = Up::of_cluster(cluster.kubeconfig(), &data_dir).await;
    let path = format!("/v1/objects?namespace={namespace}&name=before");
    assert_eq!(up.get(&path).await.unwrap()["items"], json!([before]), "what was there is there at once");
    up.shows(namespace, "between").await;
    let metrics = reqwest::get(format!("{}/metrics", up.agent)).await.unwrap().text().await.unwrap();
    assert!(metrics.contains("spindrift_agent_listings_total 0\n"), "it was listed again: {metrics}");
    up.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_name_three_simulated_clusters_are_shown_and_no_other_is_touched() {
    let directory = scratch("up").unwrap();
    let api_server = TcpListener::bind("127.0.0.1:0").unwrap();
    api_server.set_nonblocking(true).unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    let own = two_contexts(&format!("http://{}", api_server.local_addr().unwrap()));
    std::fs::write(&kubeconfig, &own).unwrap();

    let up = Up::start(&directory.path().join("data"), &[], Some(&kubeconfig)).await;
    assert_eq!(up.accounts().await.len(), 3);
    let pods = up.get("/v1/objects?kind=pods").await.unwrap();
    let seen: BTreeSet<_> =
        pods["items"].as_array().unwrap().iter().map(|pod| pod["account"].as_str().unwrap()).collect();
    assert_eq!(seen.len(), 3, "pods run in each of them");

    let said = up.daemon.log();
    for part in [kubeconfig.to_str().unwrap(), "north, south", "spindrift up --context north"] {
        assert!(said.contains(part), "{said}");
    }
    let called = api_server.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(called, Err(io::ErrorKind::WouldBlock), "nobody called the user's own cluster");
    assert_eq!(std::fs::read_to_string(&kubeconfig).unwrap(), own);
    up.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_of_an_earlier_run_are_gone_and_those_that_stay_resume() {
    let directory = scratch("up").unwrap();
    let up = Up::start(directory.path(), &["--playground", "2"], None).await;
    let before = up.accounts().await;
    assert_eq!(before.len(), 2);
    let seq = up.seq(&before[0]).await;
    up.stop().await;

    let up = Up::start(directory.path(), &["--playground", "1"], None).await;
    assert_eq!(up.accounts().await, before[..1]);
    assert!(up.seq(&before[0]).await >= seq, "its history was begun anew");
    up.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_read_is_replaced_when_asked() {
    let directory = scratch("up").unwrap();
    std::fs::write(directory.path().join("spindrift.db"), "this is no database".repeat(500)).unwrap();
    let args = ["up", "--data-dir", directory.path().to_str().unwrap(), "--port=0", "--grpc-port=0"];
    let output = spindrift(&args, &directory.path().join("nowhere"), directory.path());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("spindrift.db") && said.contains("--fresh"), "{said}");

    let up = Up::start(directory.path(), &["--playground", "1", "--fresh"], None).await;
    assert_eq!(up.accounts().await.len(), 1);
    up.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_names_the_conflict() {
    let directory = scratch("up").unwrap();
    let data_dir = directory.path().join("data");
    let up = Up::start(&data_dir, &["--playground", "1"], None).await;
    let nowhere = directory.path().join("nowhere");

    let output = spindrift(&["up", "--data-dir", data_dir.to_str().unwrap()], &nowhere, directory.path());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("--data-dir") && said.contains("another `spindrift up`"), "{said}");

    let port = up.rest.rsplit(':').next().unwrap();
    let other = ["up", "--data-dir", "other", "--grpc-port=0", "--agent-port=0", "--port", port];
    let output = spindrift(&other, &nowhere, directory.path());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    for part in [port, "is taken", "--port"] {
        assert!(said.contains(part), "{said}");
    }
    up.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_run_prints_only_the_address_of_its_hub() {
    let directory = scratch("up").unwrap();
    let args =
        ["up", "--quiet", "--playground=1", "--port=0", "--grpc-port=0", "--agent-port=0", "--data-dir"];
    let args = [&args[..], &[directory.path().to_str().unwrap()]].concat();
    let daemon = Daemon::spawn(binary("spindrift").unwrap(), &args, &[("HOSTNAME", "laptop")]).unwrap();
    daemon.wait_for_log("http://localhost:").await.unwrap();
    let url = daemon.log().trim().to_owned();
    assert_eq!(url.lines().count(), 1, "{url}");
    eventually!("it answers", LONG, {
        let accounts: Value = reqwest::get(format!("{url}/v1/accounts")).await?.json().await?;
        anyhow::ensure!(accounts[0]["objects"].as_u64() > Some(0), "{accounts}");
        Ok(())
    });
    daemon.terminate().unwrap();
    assert_eq!(daemon.exit(PATIENCE).await.unwrap().code(), Some(0), "{}", daemon.log());
}

#[tokio::test]
async fn an_unknown_context_is_answered_with_the_known_ones() {
    let directory = scratch("up").unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    std::fs::write(&kubeconfig, two_contexts("http://127.0.0.1:1")).unwrap();
    let output = spindrift(&["up", "--context", "east"], &kubeconfig, directory.path());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    for part in ["--context", "\"east\"", "north, south"] {
        assert!(said.contains(part), "{said}");
    }
}

#[tokio::test]
async fn a_context_without_a_kubeconfig_is_answered_with_the_way_to_name_one() {
    let directory = scratch("up").unwrap();
    let output = spindrift(&["up", "--context", "prod"], &directory.path().join("nowhere"), directory.path());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("spindrift up --kubeconfig FILE"), "{said}");
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0, "something was written");
}
