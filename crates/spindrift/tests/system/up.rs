//! `spindrift up`: the whole system in one process, and nothing that the user did not name.

use std::{
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
    async fn start(kubeconfig: &Path, data_dir: &Path) -> Self {
        let (kubeconfig, data_dir) = (kubeconfig.to_str().unwrap(), data_dir.to_str().unwrap());
        let ports = ["--port=0", "--grpc-port=0", "--agent-port=0"];
        let args = [&["up", "--kubeconfig", kubeconfig, "--data-dir", data_dir], &ports[..]].concat();
        let daemon = Daemon::spawn(binary("spindrift").unwrap(), &args, &[("HOSTNAME", "laptop")]).unwrap();
        daemon.wait_for_log("Ctrl-C stops it.").await.unwrap();
        let log = daemon.log();
        let address = |label: &str| {
            let line = log.lines().find(|line| line.trim_start().starts_with(label)).unwrap();
            line.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned()
        };
        Self { rest: address("REST"), agent: address("the agent"), daemon }
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

    let up = Up::start(cluster.kubeconfig(), &data_dir).await;
    create("before").await;
    let before = up.shows(namespace, "before").await;
    up.watches_everything().await;
    up.stop().await;
    create("between").await;

    let up = Up::start(cluster.kubeconfig(), &data_dir).await;
    let path = format!("/v1/objects?namespace={namespace}&name=before");
    assert_eq!(up.get(&path).await.unwrap()["items"], json!([before]), "what was there is there at once");
    up.shows(namespace, "between").await;
    let metrics = reqwest::get(format!("{}/metrics", up.agent)).await.unwrap().text().await.unwrap();
    assert!(metrics.contains("spindrift_agent_listings_total 0\n"), "it was listed again: {metrics}");
    up.stop().await;
}

#[tokio::test]
async fn without_a_name_no_cluster_is_touched() {
    let directory = scratch("up").unwrap();
    let api_server = TcpListener::bind("127.0.0.1:0").unwrap();
    api_server.set_nonblocking(true).unwrap();
    let kubeconfig = directory.path().join("kubeconfig");
    std::fs::write(&kubeconfig, two_contexts(&format!("http://{}", api_server.local_addr().unwrap())))
        .unwrap();

    let output = spindrift(&["up"], &kubeconfig, directory.path());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    for part in [kubeconfig.to_str().unwrap(), "north, south", "spindrift up --context north"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(said.lines().count(), 1, "{said}");
    let called = api_server.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(called, Err(io::ErrorKind::WouldBlock), "nobody called");
    let left: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["kubeconfig"], "nothing was written");
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
async fn without_a_kubeconfig_the_way_to_name_one_is_told() {
    let directory = scratch("up").unwrap();
    let nowhere = directory.path().join("nowhere");
    let output = spindrift(&["up"], &nowhere, directory.path());
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("spindrift up --kubeconfig FILE"), "{said}");
}

#[tokio::test]
async fn version_prints_the_release() {
    let directory = scratch("version").unwrap();
    let output = spindrift(&["version"], directory.path(), directory.path());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!("spindrift {}\n", env!("CARGO_PKG_VERSION"))
    );
}
