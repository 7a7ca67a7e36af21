//! `get -w`: a row per change, over restarts of the hub.

use std::time::Duration;

use serde_json::json;
use spindrift_testkit::{AgentProcess, Cluster, Daemon, Database, HubProcess, binary, eventually};

/// Long enough on a loaded machine.
pub(crate) const LONG: Duration = Duration::from_mins(2);

struct Stack {
    cluster: &'static Cluster,
    namespace: String,
    hub: HubProcess,
    _agent: AgentProcess,
    _database: Database,
}

// === impl Stack ===

impl Stack {
    async fn start() -> Self {
        let cluster = Cluster::shared().await.unwrap();
        let namespace = cluster.namespace("watched").await.unwrap();
        let database = Database::sqlite().unwrap();
        let settings = [("/kubesvc/cache/cacheKinds", json!(["ConfigMap"]))];
        let hub = HubProcess::start("hub", &database, &settings).await.unwrap();
        let accounts = json!([{ "name": "main", "kubeconfigFile": cluster.kubeconfig() }]);
        let agent = AgentProcess::start("agent", hub.grpc(), &accounts).unwrap();
        Self { cluster, namespace, hub, _agent: agent, _database: database }
    }

    async fn create(&self, name: &str) {
        self.cluster.kubectl(&["create", "configmap", name, "-n", &self.namespace]).await.unwrap();
    }

    async fn is_cached(&self, name: &str) {
        let query = [("kind", "ConfigMap"), ("namespace", self.namespace.as_str()), ("name", name)];
        eventually!("it is cached", LONG, !self.hub.objects(&query).await.unwrap().is_empty());
    }

    fn watch(&self, args: &[&str]) -> Daemon {
        let words = [&["get", "cm", "-n", &self.namespace, "-w"], args].concat();
        let env =
            [("SPINDRIFT_HUB", self.hub.url()), ("SPINDRIFT_CONFIG", "/nonexistent/config.yml".to_owned())];
        let env: Vec<_> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Daemon::spawn(binary("spindrift").unwrap(), &words, &env).unwrap()
    }
}

/// Number of lines that begin with these words.
fn count(daemon: &Daemon, words: &[&str]) -> usize {
    let begins =
        |line: &&str| line.split_whitespace().zip(words).filter(|(a, b)| a == *b).count() == words.len();
    daemon.log().lines().filter(begins).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_rows_and_a_restart_of_the_hub_repeats_and_misses_none() {
    let mut stack = Stack::start().await;
    stack.create("first").await;
    stack.is_cached("first").await;
    let watch = stack.watch(&["--output-watch-events"]);
    eventually!("it is listed", LONG, count(&watch, &["ADDED", "main", "first", "0"]) == 1);
    assert_eq!(count(&watch, &["EVENT", "ACCOUNT", "NAME", "DATA", "AGE"]), 1);
    stack.create("second").await;
    eventually!("it is told", LONG, count(&watch, &["ADDED", "main", "second", "0"]) == 1);

    stack.hub.kill();
    eventually!("the user is told", LONG, watch.log().contains("connection to the hub lost, retrying"));
    stack.create("third").await;
    stack.cluster.kubectl(&["delete", "cm", "second", "-n", &stack.namespace]).await.unwrap();
    stack.hub.restart().await.unwrap();
    eventually!("the user is told", LONG, watch.log().contains("reconnected to the hub"));
    eventually!("what came is told", LONG, count(&watch, &["ADDED", "main", "third", "0"]) == 1);
    eventually!("what went is told", LONG, count(&watch, &["DELETED", "main", "second", "0"]) == 1);

    let patch =
        ["patch", "cm", "first", "-n", &stack.namespace, "--type=merge", "-p", r#"{"data":{"a":"1"}}"#];
    stack.cluster.kubectl(&patch).await.unwrap();
    eventually!("a change is told", LONG, count(&watch, &["MODIFIED", "main", "first", "1"]) == 1);
    for name in ["first", "third"] {
        assert_eq!(count(&watch, &["ADDED", "main", name]), 1, "{}", watch.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_a_watch_are_whole() {
    let stack = Stack::start().await;
    stack.create("first").await;
    stack.is_cached("first").await;
    let watch = stack.watch(&["-o", "json", "-a", "main"]);
    eventually!("it is listed", LONG, watch.log().contains("\"name\": \"first\""));
    stack.create("second").await;
    eventually!("it is told", LONG, {
        let log = watch.log();
        let documents: Result<Vec<serde_json::Value>, _> =
            serde_json::Deserializer::from_str(&log).into_iter().collect();
        let names =
            documents.map(|all| all.iter().map(|one| one["metadata"]["name"].clone()).collect::<Vec<_>>());
        names.is_ok_and(|names| names == ["first", "second"])
    });
}
