//! A fleet of populated clusters behind one listener.
//!
//! ```text
//! start(FleetOptions) ─▶ Playground ─┬─ eu-west    ─ shop or pods ─ controllers, life, producer, faults
//!                                    ├─ us-east    ─ …
//!                                    └─ …            (one task of each sort for all clusters)
//! ```

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
};

use jiff::Timestamp;
use serde_json::json;
use spindrift_process::shutdown::Shutdown;

use crate::{
    cluster::{Cluster, ClusterOptions},
    controllers::{Controllers, Timing},
    faults::{Faults, Script},
    playground::Playground,
    population::{Load, Population, PopulationOptions, Producer, Template},
    shop::{ActivityRate, Shop, ShopActivity, ShopLogs, ShopSize, cluster_names},
    status::Status,
};

/// Options of a fleet.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// Listen address; port 0 selects a free one.
    pub listen: SocketAddr,
    pub clusters: usize,
    pub content: Content,
    /// Seed of the clusters' content and activity.
    pub seed: u64,
    /// Seed of the clusters' uids, by which clients recognize them after a restart; without it they are random.
    pub identity: Option<u64>,
    pub faults: Option<Script>,
}

/// Content of the clusters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Content {
    /// Controllers only.
    Empty { timing: Timing },
    /// The sample shop in each cluster. `pace` multiplies its activity; 0 disables it.
    Shop { timing: Timing, pace: f64 },
    /// Generated pods.
    Pods(Pods),
}

/// Pods that are generated on read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pods {
    /// Per cluster.
    pub pods: u32,
    pub pod_bytes: usize,
    pub namespaces: u32,
    /// Sum over all clusters.
    pub load: Load,
}

/// A fleet that runs until the process stops.
pub struct Fleet {
    pub playground: Playground,
    /// In the order of creation: the first ones have the best-known names.
    pub clusters: Vec<Arc<Cluster>>,
    /// Generated pods of each cluster.
    pub populations: Vec<Arc<Population>>,
}

/// Error at the start of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    #[error("listen on {address}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("open the shop of cluster {cluster}")]
    Shop { cluster: String, source: Box<Status> },
    #[error("create the namespaces of cluster {cluster}")]
    Namespaces { cluster: String, source: Box<Status> },
}

/// Maximum number of clusters with the full shop.
const FULL_SHOPS: usize = 20;

/// Number of Event objects kept per cluster: enough to see recent activity.
const EVENTS: usize = 200;

/// History of a corner shop: some 200 changes of 500 bytes, so that a thousand clusters fit into memory.
const CORNER_HISTORY: (usize, usize) = (200, 96 << 10);

/// A watch that reconnects within this time can resume.
const HISTORY_SECONDS: f64 = 120.0;

/// The year 2020. Counting from there keeps revisions short: they fit into 53 bits.
const EPOCH_MICROSECONDS: i64 = 1_577_836_800_000_000;

// === impl Fleet ===

impl Fleet {
    pub fn address(&self) -> SocketAddr {
        self.playground.address()
    }

    /// Kubeconfig with one context per cluster, named like the cluster.
    pub fn kubeconfig(&self) -> String {
        self.playground.kubeconfig()
    }

    /// Names of the clusters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.clusters.iter().map(|cluster| cluster.name())
    }
}

// === impl FleetOptions ===

impl FleetOptions {
    /// Clusters with shops, on a free local port.
    pub fn shops(clusters: usize) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            clusters,
            content: Content::Shop { timing: Timing::REAL, pace: 1.0 },
            seed: 1,
            identity: None,
            faults: None,
        }
    }

    fn size(&self) -> ShopSize {
        if self.clusters <= FULL_SHOPS { ShopSize::Full } else { ShopSize::Corner }
    }

    fn cluster(&self, name: &str, revision: u64) -> Arc<Cluster> {
        let usual = ClusterOptions::default();
        let (history_changes, history_bytes) = match self.size() {
            ShopSize::Full => (usual.history_changes, usual.history_bytes),
            ShopSize::Corner => CORNER_HISTORY,
        };
        let identity = self.identity.map(|identity| hash(&(identity, name)));
        Cluster::with_options(name, ClusterOptions { history_changes, history_bytes, revision, identity })
    }
}

/// Starts a fleet. Its tasks belong to the process and end with it.
pub async fn start(options: FleetOptions, shutdown: &Shutdown) -> Result<Fleet, FleetError> {
    // Later runs have higher revisions, so that a client that resumes from an old one gets 410 and lists again. No
    // cluster makes a million changes per second, so that none overtakes the clock.
    let revision = u64::try_from(Timestamp::now().as_microsecond() - EPOCH_MICROSECONDS).unwrap_or(1);
    let names = cluster_names(options.clusters);
    let clusters: Vec<_> = names.iter().map(|name| options.cluster(name, revision)).collect();
    let populations = match options.content {
        Content::Empty { timing } => {
            manage(&options, &clusters, timing, shutdown);
            Vec::new()
        }
        Content::Shop { timing, pace } => {
            open_shops(&options, &clusters, pace, shutdown)?;
            manage(&options, &clusters, timing, shutdown);
            Vec::new()
        }
        Content::Pods(pods) => populate(&options, pods, &clusters, revision, shutdown)?,
    };
    if let Some(script) = options.faults {
        let faults =
            clusters.iter().map(|cluster| (cluster.name().to_owned(), Faults::before(cluster))).collect();
        shutdown.spawn("playground.faults", script.play(faults, shutdown.token()));
    }
    let playground = Playground::bind(options.listen)
        .await
        .map_err(|source| FleetError::Listen { address: options.listen, source })?;
    for cluster in &clusters {
        playground.add(Arc::clone(cluster));
    }
    playground.start(shutdown);
    Ok(Fleet { playground, clusters, populations })
}

fn manage(options: &FleetOptions, clusters: &[Arc<Cluster>], timing: Timing, shutdown: &Shutdown) {
    let (controllers, task) = Controllers::new(shutdown.token());
    shutdown.spawn("playground.controllers", task);
    let events = if options.size() == ShopSize::Full { EVENTS } else { EVENTS / 20 };
    for cluster in clusters {
        cluster.set_logs(ShopLogs::of(cluster));
        controllers.manage(cluster, timing, hash(&(options.seed, cluster.name(), "controllers")), events);
    }
}

fn open_shops(
    options: &FleetOptions,
    clusters: &[Arc<Cluster>],
    pace: f64,
    shutdown: &Shutdown,
) -> Result<(), FleetError> {
    let mut activity = ShopActivity::new(ActivityRate::for_clusters(clusters.len()).times(pace));
    for cluster in clusters {
        let seed = hash(&(options.seed, cluster.name()));
        let shop = Shop { cluster: cluster.name(), size: options.size(), seed };
        shop.open(cluster).map_err(|source| FleetError::Shop {
            cluster: cluster.name().to_owned(),
            source: Box::new(source),
        })?;
        activity.add(cluster, options.size(), seed);
    }
    if pace > 0.0 {
        shutdown.spawn("playground.activity", activity.run(shutdown.token()));
    }
    Ok(())
}

fn populate(
    options: &FleetOptions,
    pods: Pods,
    clusters: &[Arc<Cluster>],
    revision: u64,
    shutdown: &Shutdown,
) -> Result<Vec<Arc<Population>>, FleetError> {
    let Pods { pods, pod_bytes, namespaces, load } = pods;
    let template = Arc::new(Template::new(pod_bytes));
    let share = u32::try_from(clusters.len().max(1)).map_or(1.0, f64::from);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of changes")]
    let history = ((load.changes_per_second / share * HISTORY_SECONDS) as usize).max(1_000);
    let mut populations = Vec::new();
    for cluster in clusters {
        let seed = hash(&(options.seed, cluster.name()));
        let population =
            Population::new(&template, PopulationOptions { pods, namespaces, seed, revision, history });
        for namespace in population.namespaces() {
            let object =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
            cluster.create(object).map_err(|source| FleetError::Namespaces {
                cluster: cluster.name().to_owned(),
                source: Box::new(source),
            })?;
        }
        cluster.set_generated("", "pods", Arc::clone(&population) as _);
        populations.push(population);
    }
    let producer = Producer::new(populations.clone(), load, options.seed);
    shutdown.spawn("playground.producer", producer.run(shutdown.token()));
    Ok(populations)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
