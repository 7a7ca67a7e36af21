//! A real cluster with controllers, a hub, and an agent that serves the two accounts that were recorded.

use std::path::Path;

use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Cluster, ContainerLog, Database, HubProcess, eventually};
use spindrift_tests::spinnaker::recorded::{CONTAINER_LOG, SETUP};

pub(crate) struct World {
    // The order of the fields is the order of their end.
    pub(crate) agent: AgentProcess,
    pub(crate) hub: HubProcess,
    pub(crate) cluster: Cluster,
    _database: Database,
}

/// The name of the agent that serves both accounts.
pub(crate) const AGENT: &str = "conformance-agent";

const NAMESPACES: [&str; 6] = [
    "default",
    "account1-testns00",
    "account1-testns01",
    "account1-testns02",
    "account1-testns03",
    "account1-testns04",
];

// === impl World ===

impl World {
    /// Starts everything; the cluster is empty.
    pub(crate) async fn start() -> Self {
        let cluster = Cluster::builder()
            .log(ContainerLog::of_every(CONTAINER_LOG))
            .controllers()
            .start()
            .await
            .unwrap();
        let database = Database::sqlite().unwrap();
        let settings = [
            ("/kubesvc/runtime/accounts/account1", runtime_of_account1()),
            ("/artifacts/http/enabled", json!(true)),
        ];
        let hub = HubProcess::start("hub", &database, &settings).await.unwrap();
        let agent = AgentProcess::start(AGENT, hub.grpc(), &accounts(cluster.kubeconfig())).unwrap();
        let world = Self { agent, hub, cluster, _database: database };
        world.ready().await;
        world
    }

    /// Creates the objects that existed before the first request, by kubectl.
    pub(crate) async fn set_up(&self) {
        self.cluster.kubectl_stdin(&["apply", "-f", "-"], SETUP).await.unwrap();
    }

    /// Waits until both accounts can be asked.
    pub(crate) async fn ready(&self) {
        for account in ["account1", "wide"] {
            let operations = self.hub.operations(account);
            eventually!(format!("{account} can be asked"), {
                let answer = operations.ask(&json!({ "verb": "list", "kind": "Namespace" })).await.unwrap();
                if answer.is_done() { Ok(()) } else { Err(answer.status().to_string()) }
            });
        }
    }
}

/// The accounts, as they were configured when they were recorded.
fn accounts(kubeconfig: &Path) -> Value {
    let others = ["kube-system", "kube-public", "kube-node-lease"];
    let omitted: Vec<_> = NAMESPACES.into_iter().chain(others).collect();
    json!([
        {
            "name": "account1",
            "kubeconfigFile": kubeconfig,
            "namespaces": NAMESPACES,
            "kinds": [
                "pod", "replicaset", "deployment", "service", "configmap", "secret", "networkpolicy", "cronjob",
                "customresourcedefinition", "crontab.stable.example.com",
            ],
            "cacheThreads": 3,
            "cacheIntervalSeconds": 5,
        },
        {
            "name": "wide",
            "kubeconfigFile": kubeconfig,
            "environment": "prod",
            "accountType": "prod",
            "omitNamespaces": omitted,
            "permissions": { "READ": ["Devs"], "WRITE": ["sre"] },
            "checkPermissionsOnStartup": false,
            "cacheAllApplicationRelationships": true,
            "metrics": true,
            "cacheIntervalSeconds": 5,
        },
    ])
}

/// Settings of an account at the hub, on top of those of its agent.
fn runtime_of_account1() -> Value {
    json!({
        "onlySpinnakerManaged": true,
        "customResources": [{ "kubernetesKind": "crontab.stable.example.com", "versioned": false }],
    })
}
