//! An honest agent with a playground cluster, beside the attacker.

use anyhow::ensure;
use serde_json::json;
use spindrift_playground::fleet::{self, FleetOptions};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::{AgentProcess, HubProcess, eventually, scratch};
use tempfile::TempDir;

/// Its account.
pub(crate) const ACCOUNT: &str = "eu-west";

pub(crate) struct Bystander {
    _agent: AgentProcess,
    _shutdown: Shutdown,
    _files: TempDir,
}

// === impl Bystander ===

impl Bystander {
    /// Returns when the account's objects are cached.
    pub(crate) async fn start(hub: &HubProcess) -> Self {
        let shutdown = Shutdown::new();
        let fleet = fleet::start(FleetOptions::shops(1), &shutdown).await.unwrap();
        let files = scratch("bystander").unwrap();
        let kubeconfig = files.path().join("playground");
        std::fs::write(&kubeconfig, fleet.kubeconfig()).unwrap();
        let accounts = json!([{ "name": ACCOUNT, "kubeconfigFile": kubeconfig, "context": ACCOUNT }]);
        let agent = AgentProcess::start("bystander", hub.grpc(), &accounts).unwrap();
        eventually!("the bystander's objects are cached", {
            hub.objects(&[("account", ACCOUNT), ("kind", "Deployment")])
                .await
                .is_ok_and(|found| !found.is_empty())
        });
        Self { _agent: agent, _shutdown: shutdown, _files: files }
    }

    /// Reads an object of the bystander's cluster through hub and agent.
    pub(crate) async fn operate(&self, hub: &HubProcess) -> anyhow::Result<()> {
        let verb = json!({ "verb": "get", "target": { "kind": "Namespace", "name": "default" } });
        let operated = hub.operations(ACCOUNT).ask(&verb).await?;
        ensure!(operated.is_done(), "{}: {}", operated.code, operated.status());
        Ok(())
    }
}
