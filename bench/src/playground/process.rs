//! `spindrift playground` as a process.

use std::{path::PathBuf, time::Duration};

use anyhow::Context;
use serde::Deserialize;
use spindrift_testkit::{Daemon, binary, scratch};
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

/// A playground that answers; killed when dropped.
pub(crate) struct Process {
    daemon: Daemon,
    address: String,
    client: reqwest::Client,
    files: TempDir,
}

#[derive(Deserialize)]
struct Index {
    clusters: Vec<String>,
}

const KUBECONFIG: &str = "kubeconfig";

/// Long enough for a thousand clusters on a busy machine.
const START_LIMIT: Duration = Duration::from_mins(2);

/// Interval at which the start is polled.
const GLANCE: Duration = Duration::from_millis(5);

// === impl Process ===

impl Process {
    /// Starts a playground, and returns the time until it listened.
    pub(crate) async fn start(arguments: &[&str]) -> anyhow::Result<(Self, Duration)> {
        let begun = Instant::now();
        let files = scratch("playground")?;
        let kubeconfig = files.path().join(KUBECONFIG).display().to_string();
        let arguments = [&["playground", "--kubeconfig-out", &kubeconfig], arguments].concat();
        let daemon = Daemon::spawn(binary("spindrift")?, &arguments, &[])?;
        let address = timeout(START_LIMIT, async {
            loop {
                if let Some(address) = address(&daemon.log()) {
                    break address;
                }
                sleep(GLANCE).await;
            }
        });
        let address = address.await.with_context(|| format!("no playground: {}", daemon.log()))?;
        let client = reqwest::Client::builder().no_proxy().build()?;
        Ok((Self { daemon, address, client, files }, begun.elapsed()))
    }

    pub(crate) async fn clusters(&self) -> anyhow::Result<Vec<String>> {
        Ok(serde_json::from_str::<Index>(&self.get("/").await?)?.clusters)
    }

    /// A kubeconfig with a context of each cluster's name.
    pub(crate) async fn kubeconfig(&self) -> anyhow::Result<PathBuf> {
        // It is announced once it is written.
        self.daemon.wait_for_log("kubectl --kubeconfig").await?;
        Ok(self.files.path().join(KUBECONFIG))
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<String> {
        Ok(self.open(path).await?.text().await?)
    }

    /// Asks, and gives the answer as soon as it begins.
    pub(crate) async fn open(&self, path: &str) -> anyhow::Result<reqwest::Response> {
        Ok(self.client.get(format!("http://{}{path}", self.address)).send().await?.error_for_status()?)
    }

    /// Resident memory in megabytes.
    pub(crate) fn memory(&self) -> anyhow::Result<f64> {
        let kilobytes = u32::try_from(self.daemon.rss_bytes()? / 1000).unwrap_or(u32::MAX);
        Ok(f64::from(kilobytes) / 1000.0)
    }
}

/// The address in `1000 clusters answer at http://127.0.0.1:8001/clusters/… and so on`.
fn address(log: &str) -> Option<String> {
    let (_, rest) = log.split_once("answer at http://")?;
    let (address, _) = rest.split_once("/clusters/")?;
    Some(address.to_owned())
}
