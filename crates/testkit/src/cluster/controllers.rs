//! What makes pods run: controllers, scheduler, and kwok in the place of a kubelet.

use std::fs;
use std::path::Path;
use std::process::Command as StdCommand;

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::access::Access;
use super::api_server::ApiServer;
use super::kubectl::Kubectl;
use crate::daemon::Daemon;
use crate::guardian;

/// A node so large that no test fills it.
const NODE: &str = include_str!("controllers/node.yaml");

/// Those left out would judge the pretended node by its missing heartbeats, or belong to kubeadm.
const CONTROLLERS: &str = "*,-nodeipam,-nodelifecycle,-tokencleaner,-bootstrapsigner";

pub(super) struct Controllers {
    _daemons: [Daemon; 3],
    _directory: TempDir,
}

// === impl Controllers ===

impl Controllers {
    /// Starts all and waits until the node is ready for pods.
    pub(super) async fn start(
        testenv: &Path,
        api_server: &ApiServer,
        access: &Access,
        kubectl: &Kubectl,
    ) -> anyhow::Result<Self> {
        let directory = guardian::scratch("controllers")?;
        let stages = directory.path().join("stages.yaml");
        write_kwok_stages(testenv, &stages)?;
        let serve = |component: &str, flags: &[(&str, &str)]| {
            let mut command = guardian::command(testenv)?;
            command.arg(component).arg("--kubeconfig").arg(access.kubeconfig());
            command.args(flags.iter().map(|(name, value)| format!("--{name}={value}")));
            Daemon::serve(component, command)
        };
        let service_account_key = api_server.service_account_key();
        let daemons = [
            serve(
                "kube-controller-manager",
                &[
                    ("leader-elect", "false"),
                    ("secure-port", "0"),
                    ("controllers", CONTROLLERS),
                    ("service-account-private-key-file", &service_account_key.to_string_lossy()),
                ],
            )?,
            serve("kube-scheduler", &[("leader-elect", "false"), ("secure-port", "0")])?,
            serve(
                "kwok",
                &[
                    ("manage-all-nodes", "true"),
                    ("cidr", "10.244.0.0/16"),
                    ("config", &stages.to_string_lossy()),
                ],
            )?,
        ];
        kubectl.run(&["create", "-f", "-"], NODE).await.context("create the node")?;
        kubectl
            .run(&["wait", "node", "--all", "--for=condition=Ready", "--timeout=120s"], "")
            .await
            .context("wait for the node")?;
        Ok(Self { _daemons: daemons, _directory: directory })
    }
}

/// Without stages kwok does nothing; the binary carries the usual ones.
fn write_kwok_stages(testenv: &Path, file: &Path) -> anyhow::Result<()> {
    let output = StdCommand::new(testenv).arg("kwok-stages").output().context("print kwok's stages")?;
    ensure!(output.status.success(), "kwok-stages ended with {}", output.status);
    fs::write(file, output.stdout).context("write kwok's stages")
}
