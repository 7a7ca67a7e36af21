//! Parts that make pods run: controllers, scheduler, and kwok in the place of a kubelet.

use std::fs;
use std::path::Path;
use std::process::Command as StdCommand;

use anyhow::{Context, ensure};
use tempfile::TempDir;
use tokio::net::TcpStream;

use super::access::Access;
use super::api_server::ApiServer;
use super::container_log::{ContainerLog, LogFiles};
use super::kubectl::Kubectl;
use crate::daemon::{Daemon, STARTUP};
use crate::guardian;
use crate::port::{free_port, loopback};

/// A node so large that no test fills it.
const NODE: &str = include_str!("controllers/node.yaml");

/// Those left out would judge the pretended node by its missing heartbeats, or belong to kubeadm.
const CONTROLLERS: &str = "*,-nodeipam,-nodelifecycle,-tokencleaner,-bootstrapsigner";

pub(super) struct Controllers {
    _daemons: [Daemon; 3],
    logs: LogFiles,
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
        logs: &[ContainerLog],
    ) -> anyhow::Result<Self> {
        let directory = guardian::scratch("controllers")?;
        let logs = LogFiles::write(&directory.path().join("logs"), logs)?;
        let configuration = directory.path().join("kwok.yaml");
        configure_kwok(testenv, &logs, &configuration)?;
        let kubelet = loopback(free_port());
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
                    ("config", &configuration.to_string_lossy()),
                    // Where the API server finds the kubelet, to ask for logs.
                    ("node-ip", &kubelet.ip().to_string()),
                    ("node-port", &kubelet.port().to_string()),
                    ("server-address", &kubelet.to_string()),
                ],
            )?,
        ];
        kubectl.run(&["create", "-f", "-"], NODE).await.context("create the node")?;
        kubectl
            .run(&["wait", "node", "--all", "--for=condition=Ready", "--timeout=120s"], "")
            .await
            .context("wait for the node")?;
        let [_, _, kwok] = &daemons;
        kwok.ready(STARTUP, async || Ok(TcpStream::connect(kubelet).await?)).await?;
        Ok(Self { _daemons: daemons, logs, _directory: directory })
    }

    pub(super) fn logs(&self) -> &LogFiles {
        &self.logs
    }
}

/// Without stages kwok does nothing; the binary carries the usual ones.
fn configure_kwok(testenv: &Path, logs: &LogFiles, file: &Path) -> anyhow::Result<()> {
    let output = StdCommand::new(testenv).arg("kwok-stages").output().context("print kwok's stages")?;
    ensure!(output.status.success(), "kwok-stages ended with {}", output.status);
    let stages = String::from_utf8(output.stdout).context("kwok's stages are UTF-8")?;
    fs::write(file, format!("{stages}\n{}\n", logs.configuration())).context("write kwok's configuration")
}
