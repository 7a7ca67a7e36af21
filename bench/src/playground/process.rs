//! `spindrift playground` as a process.

use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;
use spindrift_testkit::{Daemon, binary};
use tokio::time::{Instant, sleep, timeout};

/// A playground that answers; killed when dropped.
pub(super) struct Process {
    daemon: Daemon,
    address: String,
    client: reqwest::Client,
}

#[derive(Deserialize)]
struct Index {
    clusters: Vec<String>,
}

/// Long enough for a thousand clusters on a busy machine.
const START_LIMIT: Duration = Duration::from_mins(2);

/// How closely the start is looked at.
const GLANCE: Duration = Duration::from_millis(5);

// === impl Process ===

impl Process {
    /// Starts a playground, and says how long it took until it listened.
    pub(super) async fn start(arguments: &[&str]) -> anyhow::Result<(Self, Duration)> {
        let begun = Instant::now();
        let daemon = Daemon::spawn(binary("spindrift")?, &[&["playground"], arguments].concat(), &[])?;
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
        Ok((Self { daemon, address, client }, begun.elapsed()))
    }

    pub(super) async fn clusters(&self) -> anyhow::Result<Vec<String>> {
        Ok(serde_json::from_str::<Index>(&self.get("/").await?)?.clusters)
    }

    pub(super) async fn get(&self, path: &str) -> anyhow::Result<String> {
        Ok(self.open(path).await?.text().await?)
    }

    /// Asks, and gives the answer as soon as it begins.
    pub(super) async fn open(&self, path: &str) -> anyhow::Result<reqwest::Response> {
        Ok(self.client.get(format!("http://{}{path}", self.address)).send().await?.error_for_status()?)
    }

    /// Resident memory in megabytes.
    pub(super) fn memory(&self) -> anyhow::Result<f64> {
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
