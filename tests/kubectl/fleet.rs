//! One cluster with objects in many states, and a hub that caches all of it under two names.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Cluster, Database, HubProcess, binary, eventually};
use tokio::sync::OnceCell;

/// Objects as they are applied: spec first, then status.
const OBJECTS: &str = include_str!("objects.jsonl");

/// Accounts of the cluster; the first is compared with kubectl.
pub(crate) const ACCOUNTS: [&str; 2] = ["east", "west"];

pub(crate) struct Fleet {
    pub(crate) cluster: &'static Cluster,
    pub(crate) hub: HubProcess,
    _agent: AgentProcess,
    _database: Database,
}

/// Output and exit code of a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

// === impl Fleet ===

impl Fleet {
    /// The fleet that all tests look at and none changes.
    pub(crate) async fn shared() -> &'static Self {
        static SHARED: OnceCell<Fleet> = OnceCell::const_new();
        SHARED.get_or_init(Self::start).await
    }

    async fn start() -> Self {
        let cluster = Cluster::shared().await.unwrap();
        load(cluster).await;
        let database = Database::sqlite().unwrap();
        let settings = [("/kubesvc/cache/cacheAll", json!(true))];
        let hub = HubProcess::start("hub", &database, &settings).await.unwrap();
        let accounts = ACCOUNTS.map(|name| json!({ "name": name, "kubeconfigFile": cluster.kubeconfig() }));
        let agent = AgentProcess::start("agent", hub.grpc(), &json!(accounts)).unwrap();
        let fleet = Self { cluster, hub, _agent: agent, _database: database };
        // Everything is listed once the last of the kinds is there, in both accounts.
        for account in ACCOUNTS {
            let query = [("account", account), ("kind", "Gadget.example.com")];
            eventually!(
                "all is cached",
                crate::watch::LONG,
                !fleet.hub.objects(&query).await.unwrap().is_empty()
            );
        }
        fleet
    }

    /// Runs spindrift against the hub.
    pub(crate) async fn spindrift(&self, args: &[&str]) -> Printed {
        let mut command = spindrift(&self.hub.url());
        command.args(args);
        tokio::task::spawn_blocking(move || Printed::of(command.output().unwrap())).await.unwrap()
    }

    /// Runs `spindrift get …` for one account until its output is that of `kubectl get …`: ages tick between the two.
    pub(crate) async fn prints_like_kubectl(&self, args: &[&str]) {
        let words = [&["get"], args].concat();
        let ours = [&words[..], &["-a", ACCOUNTS[0]]].concat();
        eventually!(format!("spindrift {} prints what kubectl does", ours.join(" ")), crate::watch::LONG, {
            let ours = self.spindrift(&ours).await;
            let theirs = self.cluster.kubectl(&words).await.map_err(|error| error.to_string())?;
            if ours.stdout == theirs && ours.code == Some(0) {
                Ok(())
            } else {
                Err(format!("{}\nkubectl:\n{theirs}\nspindrift:\n{}", ours.stderr, ours.stdout))
            }
        });
    }
}

/// A command for a hub, without the configuration of this machine's user.
pub(crate) fn spindrift(hub: &str) -> Command {
    let mut command = Command::new(binary("spindrift").unwrap());
    command.env("SPINDRIFT_HUB", hub).env("SPINDRIFT_CONFIG", Path::new("/nonexistent/config.yml"));
    command.stdin(Stdio::null());
    command
}

/// Creates the objects and puts them into their states.
async fn load(cluster: &Cluster) {
    let objects: Vec<Value> = OBJECTS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let lines = |wanted: &dyn Fn(&Value) -> bool| {
        objects.iter().filter(|object| wanted(object)).map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let is_definition = |object: &Value| object["kind"] == "CustomResourceDefinition";
    let apply = ["apply", "--server-side", "-f", "-"];
    cluster.kubectl_stdin(&apply, &lines(&is_definition)).await.unwrap();
    cluster.kubectl(&["wait", "--for=condition=established", "crd", "--all", "--timeout=30s"]).await.unwrap();
    cluster.kubectl_stdin(&apply, &lines(&|object| !is_definition(object))).await.unwrap();
    let with_status = lines(&|object| object["status"].as_object().is_some_and(|status| !status.is_empty()));
    let status = ["apply", "--server-side", "--force-conflicts", "--subresource=status", "-f", "-"];
    cluster.kubectl_stdin(&status, &with_status).await.unwrap();
    cluster.kubectl(&["delete", "pod", "-n", "shop", "-l", "end=soon", "--wait=false"]).await.unwrap();
    let uid = ["get", "pod", "crash-looping", "-n", "shop", "-o", "jsonpath={.metadata.uid}"];
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": "crash.2", "namespace": "shop" },
        "type": "Warning",
        "reason": "Unhealthy",
        "message": "Liveness probe failed",
        "count": 40,
        "firstTimestamp": "2026-11-01T10:00:00Z",
        "lastTimestamp": "2026-11-15T10:00:00Z",
        "source": { "component": "kubelet", "host": "node-a" },
        // Of this very pod, and of no other that had its name.
        "involvedObject": { "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "crash-looping",
            "uid": cluster.kubectl(&uid).await.unwrap() },
    });
    cluster.kubectl_stdin(&apply, &event.to_string()).await.unwrap();
    load_replica_sets(cluster).await;
}

/// Two replica sets of a deployment: one with its template, and an older one.
async fn load_replica_sets(cluster: &Cluster) {
    let read = ["get", "deploy", "described", "-n", "shop", "-o", "json"];
    let deployment: Value = serde_json::from_str(&cluster.kubectl(&read).await.unwrap()).unwrap();
    for (name, image) in
        [("described-1", "registry.example.com/main:0"), ("described-2", "registry.example.com/main:1")]
    {
        let mut template = deployment["spec"]["template"].clone();
        template["spec"]["containers"][0]["image"] = image.into();
        template["metadata"]["labels"]["pod-template-hash"] = name.into();
        let labels = json!({ "app": "described", "pod-template-hash": name });
        let owner = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "described", "controller": true,
            "uid": deployment["metadata"]["uid"] });
        let set = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": { "name": name, "namespace": "shop", "labels": labels, "ownerReferences": [owner] },
            "spec": { "replicas": 2, "selector": { "matchLabels": labels }, "template": template } });
        cluster.kubectl_stdin(&["apply", "--server-side", "-f", "-"], &set.to_string()).await.unwrap();
    }
}

// === impl Printed ===

impl Printed {
    pub(crate) fn of(output: std::process::Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
    }
}
