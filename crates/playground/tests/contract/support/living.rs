//! A playground cluster as users have it: with controllers, logs, and the real kubectl.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spindrift_playground::fleet::{Content, Fleet, FleetOptions};
use spindrift_playground::{Cluster, Timing, fleet};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::{Daemon, Kubectl, scratch};
use tempfile::TempDir;

/// One cluster with a shop without activity: nothing changes unless the test changes it.
pub(crate) struct Living {
    fleet: Fleet,
    kubectl: Kubectl,
    directory: TempDir,
    /// Its tasks end with the runtime of the test.
    _shutdown: Shutdown,
}

// === impl Living ===

impl Living {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let shutdown = Shutdown::new();
        let content = Content::Shop { timing: Timing::FAST, pace: 0.0 };
        let fleet = fleet::start(FleetOptions { content, ..FleetOptions::shops(1) }, &shutdown).await?;
        let directory = scratch("playground")?;
        let kubeconfig = directory.path().join("kubeconfig");
        fs::write(&kubeconfig, fleet.kubeconfig())?;
        let kubectl = Kubectl::with(&kubeconfig).await?;
        Ok(Self { fleet, kubectl, directory, _shutdown: shutdown })
    }

    pub(crate) fn cluster(&self) -> &Arc<Cluster> {
        &self.fleet.clusters[0]
    }

    pub(crate) fn address(&self) -> std::net::SocketAddr {
        self.fleet.address()
    }

    /// A kubeconfig whose server is a proxy.
    pub(crate) fn kubeconfig_via(&self, proxy: std::net::SocketAddr) -> anyhow::Result<PathBuf> {
        let path: &Path = self.directory.path();
        let path = path.join("kubeconfig-via");
        let text = self.fleet.kubeconfig().replace(&self.address().to_string(), &proxy.to_string());
        fs::write(&path, text)?;
        Ok(path)
    }

    /// Runs kubectl; the arguments are separated by spaces, without quoting.
    pub(crate) async fn kubectl(&self, line: &str) -> anyhow::Result<String> {
        self.kubectl_stdin(line, "").await
    }

    pub(crate) async fn kubectl_stdin(&self, line: &str, input: &str) -> anyhow::Result<String> {
        let args: Vec<&str> = line.split_whitespace().collect();
        self.kubectl.run(&args, input).await
    }

    /// Runs kubectl, which must fail, and returns its error output.
    pub(crate) async fn kubectl_fails(&self, line: &str, input: &str) -> String {
        let outcome = self.kubectl_stdin(line, input).await;
        outcome.expect_err("kubectl was to fail").to_string()
    }

    /// Starts kubectl, which runs until the value is dropped.
    pub(crate) fn kubectl_spawn(&self, line: &str) -> anyhow::Result<Daemon> {
        let args: Vec<&str> = line.split_whitespace().collect();
        self.kubectl.spawn(&args)
    }
}
