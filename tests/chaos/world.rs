//! All that can break, and all that is written to.

use std::sync::{Arc, atomic::AtomicU64};

use serde_json::{Value, json};
use spindrift_playground::{
    Faults, Timing,
    fleet::{self, Content, FleetOptions},
};
use spindrift_process::shutdown::Shutdown;
use spindrift_testkit::{AgentProcess, Cluster, Database, FaultProxy, HubProcess, scratch};
use tempfile::TempDir;
use tokio::{sync::Mutex, task::JoinSet};

use crate::writer::{Gate, Site, Writer, Written};

/// The kinds that are cached and compared, in every account.
pub(crate) const KINDS: [&str; 4] = ["ConfigMap", "Secret", "Widget", "CustomResourceDefinition"];

/// The parts that faults break. A fault holds the lock of its part until it is repaired: two faults of one part do not
/// end each other.
pub(crate) struct World {
    pub(crate) stacks: [Stack; 2],
    /// The real cluster first, then those of the playground.
    pub(crate) sites: Vec<Arc<Site>>,
    pub(crate) api_server: Mutex<Cluster>,
    pub(crate) api_link: Mutex<FaultProxy>,
    pub(crate) playground: Vec<Arc<Faults>>,
    gate: Arc<Gate>,
    _writers: JoinSet<()>,
    _shutdown: Shutdown,
    _files: TempDir,
}

/// An agent with its hub and database.
pub(crate) struct Stack {
    pub(crate) agent: Mutex<AgentProcess>,
    pub(crate) link: Mutex<FaultProxy>,
    pub(crate) hub: Mutex<HubProcess>,
    pub(crate) database: Mutex<Database>,
    pub(crate) name: &'static str,
    /// Accounts by name, and the sites that they are of.
    pub(crate) accounts: Vec<(String, usize)>,
}

// === impl World ===

impl World {
    pub(crate) async fn build(seed: u64) -> Self {
        let cluster = Cluster::builder().bare().start().await.unwrap();
        let api_link = FaultProxy::start(cluster.addr()).await.unwrap();
        let shutdown = Shutdown::new();
        let content = Content::Empty { timing: Timing::FAST };
        let fleet =
            fleet::start(FleetOptions { content, ..FleetOptions::shops(2) }, &shutdown).await.unwrap();
        let files = scratch("chaos").unwrap();
        let playground_file = files.path().join("playground");
        std::fs::write(&playground_file, fleet.kubeconfig()).unwrap();

        let real_file = cluster.kubeconfig_via(api_link.addr()).unwrap();
        let real = json!({ "name": "real", "kubeconfigFile": real_file });
        let simulated =
            |name: &str| json!({ "name": name, "kubeconfigFile": playground_file, "context": name });
        let [eu, us] = ["eu-west", "us-east"].map(simulated);
        let on_postgres = [(&real, 0), (&eu, 1)];
        let on_sqlite = [(&real, 0), (&us, 2)];
        let stacks = [
            Stack::build("p", Database::postgres_dedicated().await.unwrap(), on_postgres).await,
            Stack::build("s", Database::sqlite().unwrap(), on_sqlite).await,
        ];

        let mut sites = vec![Arc::new(Site::new("real", cluster.client()))];
        for name in fleet.names() {
            sites.push(Arc::new(Site::in_context(&playground_file, name).await));
        }
        let gate = Arc::new(Gate::default());
        let mut writers = JoinSet::new();
        for (site, number) in sites.iter().zip(0..) {
            writers.spawn(Writer::new(Arc::clone(site), seed + number).run(Arc::clone(&gate)));
        }
        Self {
            stacks,
            sites,
            api_server: Mutex::new(cluster),
            api_link: Mutex::new(api_link),
            playground: fleet.clusters.iter().map(|cluster| Faults::before(cluster)).collect(),
            gate,
            _writers: writers,
            _shutdown: shutdown,
            _files: files,
        }
    }

    /// Lets the writers write.
    pub(crate) fn write(&self) {
        self.gate.open();
    }

    /// Returns when nothing is being written any more.
    pub(crate) async fn stop_writing(&self) {
        self.gate.close().await;
    }

    pub(crate) fn written(&self) -> Written {
        let sum = |of: fn(&Site) -> &AtomicU64| {
            self.sites.iter().map(|site| of(site).load(std::sync::atomic::Ordering::Relaxed)).sum()
        };
        Written { changes: sum(|site| &site.changes), large: sum(|site| &site.large) }
    }
}

// === impl Stack ===

impl Stack {
    async fn build(name: &'static str, database: Database, accounts: [(&Value, usize); 2]) -> Self {
        let settings = [("/kubesvc/cache/cacheKinds", json!(KINDS))];
        let hub = HubProcess::start(&format!("hub-{name}"), &database, &settings).await.unwrap();
        let link = FaultProxy::start(hub.grpc()).await.unwrap();
        let configured = json!(accounts.map(|(account, _)| account));
        let agent = AgentProcess::start(&format!("agent-{name}"), link.addr(), &configured).unwrap();
        let named = |(account, site): (&Value, usize)| (account["name"].as_str().unwrap().to_owned(), site);
        Self {
            agent: Mutex::new(agent),
            link: Mutex::new(link),
            hub: Mutex::new(hub),
            database: Mutex::new(database),
            name,
            accounts: accounts.map(named).to_vec(),
        }
    }
}
