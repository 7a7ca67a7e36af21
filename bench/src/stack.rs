//! An agent, a hub and a database, as they are shipped; what the benchmark asks them costs them next to nothing.

use std::{fs, time::Duration};

use anyhow::{Context, ensure};
use serde_json::json;
use spindrift_testkit::{AgentProcess, Cluster, Database, HubProcess};
use tokio::time::{Instant, sleep, timeout};

/// Long enough for all pods on a busy machine.
const SYNC_LIMIT: Duration = Duration::from_mins(3);

/// How closely the hub is looked at. A look counts nothing and reads no row, so it can be taken often.
const GLANCE: Duration = Duration::from_millis(5);

pub(crate) const ACCOUNT: &str = "bench";

/// A stack that caches the pods of one cluster in a fresh SQLite file.
pub(crate) struct Stack {
    // The order of the fields is the order of their end.
    agent: AgentProcess,
    pub(crate) hub: HubProcess,
    _database: Database,
}

/// The agent's resident memory, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AgentMemory {
    pub(crate) now: u64,
    pub(crate) peak: u64,
}

// === impl Stack ===

impl Stack {
    /// Starts a hub, waits until it answers, and starts an agent.
    pub(crate) async fn start(cluster: &Cluster) -> anyhow::Result<Self> {
        let database = Database::sqlite()?;
        let logging = json!({ "level": "info" });
        let settings = [("/kubesvc/cache/cacheKinds", json!(["Pod"])), ("/logging", logging.clone())];
        let hub = HubProcess::start("bench-hub", &database, &settings).await?;
        let account = json!({ "name": ACCOUNT, "kubeconfigFile": cluster.kubeconfig() });
        let settings = json!({
            "clouddriver": { "grpc": hub.grpc().to_string() },
            "kubernetes": { "accounts": [account] },
            "logging": logging,
        });
        let agent = AgentProcess::with_settings("bench-agent", settings)?;
        Ok(Self { agent, hub, _database: database })
    }

    /// The time from the account's attachment until so many pods are stored.
    pub(crate) async fn first_sync(&self, pods: usize) -> anyhow::Result<Duration> {
        let sync = async {
            self.reaches("spindrift_hub_attachments", 1).await?;
            let attached = Instant::now();
            self.reaches("spindrift_hub_objects_upserted_total", pods).await?;
            let took = attached.elapsed();
            let stored = self.stored().await?;
            ensure!(stored == Some(pods as u64), "{stored:?} pods are stored instead of {pods}");
            Ok(took)
        };
        timeout(SYNC_LIMIT, sync).await.context("the first sync takes too long")?
    }

    /// Waits until a number of the hub's own metrics is there.
    async fn reaches(&self, metric: &str, wanted: usize) -> anyhow::Result<()> {
        while self.metric(metric).await? < wanted {
            sleep(GLANCE).await;
        }
        Ok(())
    }

    async fn metric(&self, name: &str) -> anyhow::Result<usize> {
        let page = self.hub.text("/metrics").await?;
        let value = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(value.with_context(|| format!("the hub has no metric {name}"))?.parse()?)
    }

    /// How many batches the hub has committed, each by a transaction.
    pub(crate) async fn batches(&self) -> anyhow::Result<usize> {
        self.metric("spindrift_hub_batches_committed_total").await
    }

    /// How many objects the hub shows.
    async fn stored(&self) -> anyhow::Result<Option<u64>> {
        Ok(self.hub.get("/v1/accounts").await?.pointer("/0/objects").and_then(serde_json::Value::as_u64))
    }

    pub(crate) fn agent_memory(&self) -> anyhow::Result<AgentMemory> {
        let daemon = self.agent.daemon();
        Ok(AgentMemory { now: daemon.rss_bytes()?, peak: peak_bytes(daemon.pid())? })
    }
}

/// The most memory that a process ever had resident.
fn peak_bytes(pid: u32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("read the agent's status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix(" kB"));
    Ok(peak.context("the kernel tells no peak")?.trim().parse::<u64>()? * 1024)
}
