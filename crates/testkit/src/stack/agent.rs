//! `spindrift-agent` as a process.

use std::{net::SocketAddr, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{metric, write_config};
use crate::{Daemon, binary, free_port, scratch};

/// A running agent; killed when dropped.
pub struct AgentProcess {
    daemon: Option<Daemon>,
    settings: Value,
    name: String,
    directory: TempDir,
    port: u16,
}

// === impl AgentProcess ===

impl AgentProcess {
    /// Starts an agent that dials the hub, with these `kubernetes.accounts`.
    pub fn start(name: &str, hub: SocketAddr, accounts: &Value) -> anyhow::Result<Self> {
        let settings = json!({
            "clouddriver": { "grpc": hub.to_string(), "backoff": { "maxDelay": 1_000_000_000 } },
            "kubernetes": { "accounts": accounts },
            "logging": { "level": "debug" },
        });
        Self::with_settings(name, settings)
    }

    /// Starts an agent with a whole configuration; only its own port is chosen here.
    pub fn with_settings(name: &str, mut settings: Value) -> anyhow::Result<Self> {
        let port = free_port();
        settings["server"]["host"] = json!("127.0.0.1");
        settings["server"]["port"] = json!(port);
        let directory = scratch("agent")?;
        let mut agent = Self { daemon: None, settings, name: name.to_owned(), directory, port };
        agent.restart()?;
        Ok(agent)
    }

    /// Changes the configuration for the next start.
    pub fn configure(&mut self, change: impl FnOnce(&mut Value)) {
        change(&mut self.settings);
    }

    /// Changes the configuration file under the running agent.
    pub fn reconfigure(&mut self, change: impl FnOnce(&mut Value)) -> anyhow::Result<()> {
        change(&mut self.settings);
        write_config(self.directory.path(), "armory-agent.yml", &self.settings)
    }

    /// Where its configuration file is.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Kills it, if it runs, and starts it again with the configuration as it is now.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        self.kill();
        write_config(self.directory.path(), "armory-agent.yml", &self.settings)?;
        let file = self.directory.path().join("armory-agent.yml");
        let config = ["--config", &file.display().to_string()];
        self.daemon = Some(Daemon::spawn(binary("spindrift-agent")?, &config, &[("HOSTNAME", &self.name)])?);
        Ok(())
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.kill();
        }
    }

    /// The port of its own endpoints.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process, while it runs.
    pub fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("the agent runs")
    }

    /// An answer of its own endpoints.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        Ok(reqwest::get(url).await?.error_for_status()?.json().await?)
    }

    /// A page of its own endpoints.
    pub async fn text(&self, path: &str) -> anyhow::Result<String> {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        Ok(reqwest::get(url).await?.error_for_status()?.text().await?)
    }

    /// A counter or gauge of its `/metrics`; a series with labels that does not exist yet is zero.
    pub async fn metric(&self, name: &str) -> anyhow::Result<u64> {
        metric(&self.text("/metrics").await?, name)
    }
}
