//! A cluster with large ConfigMaps, an agent that serves it, and a hub that caches it.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;
use spindrift_playground::{
    Timing,
    fleet::{self, Content, Fleet, FleetOptions},
};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::{AgentProcess, HubProcess, eventually, scratch};
use tempfile::TempDir;

/// Kubernetes allows 1 MiB.
pub(crate) const BYTES: usize = 700_000;

/// Long enough for 140 MB on a loaded machine.
const LONG: Duration = Duration::from_mins(3);

/// Setting of a hub that caches the ConfigMaps.
pub(crate) const KINDS: (&str, &str) = ("/kubesvc/cache/cacheKinds", r#"["ConfigMap", "Deployment"]"#);

pub(crate) struct BigCluster {
    _agent: AgentProcess,
    fleet: Fleet,
    account: String,
    _shutdown: Shutdown,
    _files: TempDir,
}

// === impl BigCluster ===

impl BigCluster {
    /// Starts an empty cluster and an agent that serves it under this name of an account.
    pub(crate) async fn start(hub: &HubProcess, account: &str) -> Self {
        let shutdown = Shutdown::new();
        let content = Content::Empty { timing: Timing::FAST };
        let options = FleetOptions { content, ..FleetOptions::shops(1) };
        let fleet = fleet::start(options, &shutdown).await.unwrap();
        let files = scratch("big-cluster").unwrap();
        let kubeconfig = files.path().join("kubeconfig");
        std::fs::write(&kubeconfig, fleet.kubeconfig()).unwrap();
        let cluster = fleet.names().next().unwrap().to_owned();
        let accounts = json!([{ "name": account, "kubeconfigFile": kubeconfig, "context": cluster }]);
        let agent = AgentProcess::start(&format!("agent-of-{account}"), hub.grpc(), &accounts).unwrap();
        Self { _agent: agent, fleet, account: account.to_owned(), _shutdown: shutdown, _files: files }
    }

    /// Creates ConfigMaps in the cluster itself, beside the hub.
    pub(crate) async fn create(&self, prefix: &str, count: usize, bytes: usize) {
        let context = self.fleet.names().next().unwrap();
        let url = format!("{}/api/v1/namespaces/default/configmaps", self.fleet.playground.url(context));
        let client = reqwest::Client::new();
        for number in 0..count {
            let config_map = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": { "name": format!("{prefix}-{number}"), "namespace": "default" },
                "data": { "value": "x".repeat(bytes) },
            });
            let response = client.post(&url).json(&config_map).send().await.unwrap();
            assert!(response.status().is_success(), "{}", response.text().await.unwrap());
        }
    }

    /// Waits until the hub has the ConfigMaps of the cluster.
    pub(crate) async fn converges(&self, hub: &HubProcess) {
        eventually("the cluster's ConfigMaps are stored", LONG, || async {
            let watches = hub.get(&format!("/v1/watches?account={}", self.account)).await?;
            let watches = watches.as_array().cloned().unwrap_or_default();
            let maps = watches.iter().find(|watch| watch["kind"] == "ConfigMap");
            let stored = maps.and_then(|maps| maps["objects"].as_u64()).unwrap_or_default();
            let living = self.fleet.clusters[0].list("", "configmaps", None).len();
            ensure!(stored == living as u64, "{stored} of {living}");
            Ok(())
        })
        .await;
    }
}
