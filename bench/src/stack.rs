//! An agent, a hub and a database, as they are shipped; the requests of the benchmark cost them next to nothing.

use std::{net::SocketAddr, str::FromStr, time::Duration};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Cluster, Daemon, Database, FaultProxy, HubProcess, Traffic};
use tokio::time::{Instant, sleep, timeout};

/// Long enough for some thousand pods on a busy machine.
const SYNC_LIMIT: Duration = Duration::from_mins(3);

/// Additional time for each pod.
const SYNC_LIMIT_OF_A_POD: Duration = Duration::from_millis(5);

/// Interval at which the hub is polled. A poll counts nothing and reads no row, so it can be frequent.
const GLANCE: Duration = Duration::from_millis(5);

pub(crate) const ACCOUNT: &str = "bench";

/// After this long without changes, a process has released the memory that it will release.
const SETTLE: Duration = Duration::from_secs(10);

/// A stack that caches into a fresh SQLite file.
pub(crate) struct Stack {
    // The order of the fields is the order of their end.
    agent: AgentProcess,
    link: Option<FaultProxy>,
    pub(crate) hub: HubProcess,
    started: Instant,
    _database: Database,
}

/// The resident memory of a process, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessMemory {
    pub(crate) now: u64,
    pub(crate) peak: u64,
}

// === impl ProcessMemory ===

impl ProcessMemory {
    pub(crate) fn of(daemon: &Daemon) -> anyhow::Result<Self> {
        Ok(Self { now: daemon.rss_bytes()?, peak: daemon.peak_rss_bytes()? })
    }

    /// Memory of a process when nothing happens any more.
    pub(crate) async fn at_rest(daemon: &Daemon) -> anyhow::Result<Self> {
        sleep(SETTLE).await;
        Self::of(daemon)
    }
}

// === impl Stack ===

impl Stack {
    /// Caches the pods of a cluster.
    pub(crate) async fn start(cluster: &Cluster) -> anyhow::Result<Self> {
        Self::with_accounts(&json!([account_of(cluster)]), &["Pod"]).await
    }

    /// Caches other kinds of a cluster.
    pub(crate) async fn of_kinds(cluster: &Cluster, kinds: &[&str]) -> anyhow::Result<Self> {
        Self::with_accounts(&json!([account_of(cluster)]), kinds).await
    }

    /// Caches the pods of a cluster, and counts the bytes between agent and hub.
    pub(crate) async fn counted(cluster: &Cluster) -> anyhow::Result<Self> {
        let (database, hub) = hub(&["Pod"]).await?;
        let link = FaultProxy::start(hub.grpc()).await?;
        let agent = agent(link.addr(), &json!([account_of(cluster)]))?;
        Ok(Self { agent, link: Some(link), hub, started: Instant::now(), _database: database })
    }

    /// Starts a hub, waits until it answers, and starts an agent.
    pub(crate) async fn with_accounts(accounts: &Value, kinds: &[&str]) -> anyhow::Result<Self> {
        let (database, hub) = hub(kinds).await?;
        let agent = agent(hub.grpc(), accounts)?;
        Ok(Self { agent, link: None, hub, started: Instant::now(), _database: database })
    }

    /// Time since the agent was started.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
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
        let limit = SYNC_LIMIT + SYNC_LIMIT_OF_A_POD * u32::try_from(pods)?;
        timeout(limit, sync).await.context("the first sync takes too long")?
    }

    /// Waits until so many watches of the agent follow changes, and returns the time from its start.
    pub(crate) async fn watches(&self, wanted: usize) -> anyhow::Result<Duration> {
        let watched = async {
            loop {
                // The agent's own port may not be open yet.
                let page = self.agent.text("/metrics").await.unwrap_or_default();
                if value(&page, "kubesvc_watches").is_some_and(|watches: usize| watches >= wanted) {
                    break self.age();
                }
                sleep(GLANCE).await;
            }
        };
        timeout(SYNC_LIMIT, watched).await.with_context(|| format!("there are not {wanted} watches"))
    }

    /// The bytes that the agent has sent to the hub, and those that it was sent.
    pub(crate) fn wire(&self) -> anyhow::Result<Traffic> {
        Ok(self.link.as_ref().context("nobody counts")?.traffic())
    }

    /// Number of objects that the hub has passed to its store.
    pub(crate) async fn upserted(&self) -> anyhow::Result<usize> {
        self.metric("spindrift_hub_objects_upserted_total").await
    }

    /// Waits until the hub has handed so many objects to its store.
    pub(crate) async fn upserts(&self, wanted: usize) -> anyhow::Result<()> {
        let reached = self.reaches("spindrift_hub_objects_upserted_total", wanted);
        timeout(SYNC_LIMIT, reached).await.context("an update does not arrive")?
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
        value(&page, name).with_context(|| format!("the hub has no metric {name}"))
    }

    /// Duration of the agent's last ping.
    pub(crate) async fn last_ping(&self) -> anyhow::Result<Duration> {
        let page = self.agent.text("/metrics").await?;
        let seconds = value(&page, "spindrift_agent_ping_seconds").context("the agent has not pinged")?;
        Ok(Duration::from_secs_f64(seconds))
    }

    /// Number of batches that the hub has committed, each by a transaction.
    pub(crate) async fn batches(&self) -> anyhow::Result<usize> {
        self.metric("spindrift_hub_batches_committed_total").await
    }

    /// Number of objects that the hub shows.
    async fn stored(&self) -> anyhow::Result<Option<u64>> {
        Ok(self.hub.get("/v1/accounts").await?.pointer("/0/objects").and_then(serde_json::Value::as_u64))
    }

    pub(crate) fn agent(&self) -> &Daemon {
        self.agent.daemon()
    }
}

async fn hub(kinds: &[&str]) -> anyhow::Result<(Database, HubProcess)> {
    let database = Database::sqlite()?;
    let settings = [("/kubesvc/cache/cacheKinds", json!(kinds)), ("/logging", logging())];
    let hub = HubProcess::start("bench-hub", &database, &settings).await?;
    Ok((database, hub))
}

fn agent(hub: SocketAddr, accounts: &Value) -> anyhow::Result<AgentProcess> {
    let settings = json!({
        "clouddriver": { "grpc": hub.to_string() },
        "kubernetes": { "accounts": accounts },
        "logging": logging(),
    });
    AgentProcess::with_settings("bench-agent", settings)
}

fn account_of(cluster: &Cluster) -> Value {
    json!({ "name": ACCOUNT, "kubeconfigFile": cluster.kubeconfig() })
}

fn logging() -> Value {
    json!({ "level": "info" })
}

/// The value of a metric without labels.
fn value<T: FromStr>(page: &str, metric: &str) -> Option<T> {
    let value = page.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '))?;
    value.parse().ok()
}
