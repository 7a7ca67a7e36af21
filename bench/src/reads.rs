//! Cost of Deck's pages of an application, beside a reader that lists the same objects of the API servers.
//!
//! ```text
//! 10,000 pods in 200 server groups, in one cluster and over 20
//!
//! ours:  GET ─▶ hub ─▶ rows ─▶ views ─▶ JSON                 peer ─▶ API servers ─▶ lists ─▶ rows ─▶ views ─▶ JSON
//!         agent ══╝ (before)
//! ```
//!
//! Both end with the same views by the same code; the peer is as lean as a live reader can be. Times are of the whole
//! request, CPU and memory those of the hub's process and of the peer's.

mod live;
mod process;
mod shop;

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use spindrift_testkit::{AgentProcess, Database, HubProcess};
use tokio::time::{Instant, sleep, timeout};

use crate::figure::{Figure, megabytes, milliseconds, percentile};
use live::Answered;
pub(crate) use live::{LiveReader, read_live};
use process::Usage;
use shop::Shop;

/// Number of objects, and of requests.
pub(crate) struct ReadsSize {
    groups: usize,
    pods: usize,
    turns: usize,
    peer_turns: usize,
}

pub(crate) const FULL: ReadsSize = ReadsSize { groups: 200, pods: 10_000, turns: 100, peer_turns: 5 };
pub(crate) const QUICK: ReadsSize = ReadsSize { groups: 40, pods: 1_000, turns: 20, peer_turns: 2 };

const FLEETS: [usize; 2] = [1, 20];

/// The memory per object is measured with a hub that has so many times fewer of them.
const FEWER: usize = 10;

/// Not measured: connections open, pages of the database are read.
const WARM_UP: usize = 5;

const SYNC_LIMIT: Duration = Duration::from_mins(10);
const GLANCE: Duration = Duration::from_millis(100);

/// After this long without changes, a process has released the memory that it will release.
const SETTLE: Duration = Duration::from_secs(10);

/// A page, the part of its answer that shows that it is complete, and its goal.
struct DeckPage {
    name: &'static str,
    path: &'static str,
    marks: fn(&ReadsSize) -> (&'static str, usize),
    goal: &'static str,
    cpu_goal: &'static str,
}

const PAGES: [DeckPage; 4] = [
    DeckPage {
        name: "server-groups",
        path: "/applications/shop/serverGroups",
        marks: |size| ("\"availabilityZone\"", size.pods),
        goal: "none",
        cpu_goal: "100 ms",
    },
    DeckPage {
        name: "clusters",
        path: "/applications/shop/clusters",
        marks: |_| ("replicaSet shop-", 1),
        goal: "4 ms",
        cpu_goal: "none",
    },
    DeckPage {
        name: "load-balancers",
        path: "/applications/shop/loadBalancers",
        marks: |size| ("\"zone\"", size.pods),
        goal: "none",
        cpu_goal: "100 ms",
    },
    DeckPage {
        name: "search",
        path: "/search?q=shop&type=instances,serverGroups,loadBalancers&pageSize=500",
        marks: |_| ("\"kubernetesKind\"", 500),
        goal: "100 ms",
        cpu_goal: "100 ms",
    },
];

/// Memory of a hub with this many objects above that without any.
#[derive(Debug, Clone, Copy)]
struct Held {
    objects: u32,
    bytes: u32,
}

/// A hub that has cached the shop.
struct ReadsStack {
    hub: HubProcess,
    idle: u64,
    _agent: AgentProcess,
    _database: Database,
}

pub(crate) async fn measure(size: &ReadsSize) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for clusters in FLEETS {
        let small = Shop::open(clusters, size.groups, size.pods / FEWER).await?;
        let few = ReadsStack::start(&small).await?.held(&small)?;
        drop(small);
        let shop = Shop::open(clusters, size.groups, size.pods).await?;
        let stack = ReadsStack::start(&shop).await?;
        figures.push(few.beside(stack.held(&shop)?, clusters));
        for page in &PAGES {
            figures.extend(stack.answer(page, &shop, size, clusters).await?);
        }
    }
    Ok(figures)
}

// === impl Held ===

impl Held {
    /// Memory of each further object; the peer is the growth by the first sync, connections to the database and code
    /// that was not needed before included, shared among the objects.
    fn beside(self, many: Self, clusters: usize) -> Figure {
        let each = f64::from(many.bytes.saturating_sub(self.bytes)) / f64::from(many.objects - self.objects);
        let all = f64::from(many.bytes) / f64::from(many.objects);
        let name = format!("reads-hub-memory-per-object-{clusters}");
        Figure { name, value: each, unit: "B", peer: all, ratio: each / all, goal: "1000 B" }
    }
}

// === impl ReadsStack ===

impl ReadsStack {
    async fn start(shop: &Shop) -> anyhow::Result<Self> {
        let database = Database::sqlite()?;
        let settings = [("/kubesvc/cache/cacheKinds", json!(shop::KINDS))];
        let hub = HubProcess::start("bench-hub", &database, &settings).await?;
        sleep(SETTLE).await;
        let idle = hub.daemon().rss_bytes()?;
        let settings = json!({
            "clouddriver": { "grpc": hub.grpc().to_string() },
            "kubernetes": { "accounts": shop.accounts()? },
        });
        let agent = AgentProcess::with_settings("bench-agent", settings)?;
        let begun = Instant::now();
        let synced = async {
            while stored(&hub).await? < shop.objects() {
                sleep(GLANCE).await;
            }
            anyhow::Ok(())
        };
        timeout(SYNC_LIMIT, synced).await.context("the shop is not cached in time")??;
        eprintln!(
            "{} objects of {} clusters are cached after {:.1?}",
            shop.objects(),
            shop.clusters(),
            begun.elapsed()
        );
        sleep(SETTLE).await;
        Ok(Self { hub, idle, _agent: agent, _database: database })
    }

    fn held(&self, shop: &Shop) -> anyhow::Result<Held> {
        let bytes = self.hub.daemon().rss_bytes()?.saturating_sub(self.idle);
        Ok(Held { objects: shop.objects().try_into()?, bytes: bytes.try_into()? })
    }

    async fn answer(
        &self,
        page: &DeckPage,
        shop: &Shop,
        size: &ReadsSize,
        clusters: usize,
    ) -> anyhow::Result<Vec<Figure>> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        let url = format!("{}{}", self.hub.url(), page.path);
        let (mark, times) = (page.marks)(size);
        let daemon = self.hub.daemon();
        let (mut took, mut bytes) = (Vec::new(), 0);
        let (mut before, requests) = (Usage::of(daemon.pid())?, shop.requests());
        let resting = daemon.rss_bytes()?;
        for turn in 0..size.turns + WARM_UP {
            if turn == WARM_UP {
                Usage::forget_peak(daemon.pid())?;
                before = Usage::of(daemon.pid())?;
            }
            let begun = Instant::now();
            let body = client.get(&url).send().await?.error_for_status()?.bytes().await?;
            if turn >= WARM_UP {
                took.push(begun.elapsed());
            } else {
                let found = memmem(&body, mark.as_bytes());
                ensure!(found >= times, "{}: {mark} is there {found} times, not {times}", page.path);
            }
            bytes = body.len();
        }
        let after = Usage::of(daemon.pid())?;
        let asked = shop.requests() - requests;
        let cpu = after.cpu.saturating_sub(before.cpu) / u32::try_from(size.turns)?;
        let peer = LiveReader::new(page.name, shop, size.peer_turns).run().await?;
        eprintln!(
            "{} over {clusters}: {bytes} bytes; {asked} requests to API servers meanwhile, of the peer {}",
            page.name, peer.requests
        );
        let Answered { took: theirs, cpu: their_cpu, peak: their_peak, .. } = peer;
        let name = |what: &str| format!("reads-{}-{what}-{clusters}", page.name);
        let time = |what: &str, percent, goal| {
            let (value, peer) =
                (milliseconds(percentile(&took, percent)), milliseconds(percentile(&theirs, percent)));
            Figure { name: name(what), value, unit: "ms", peer, ratio: value / peer, goal }
        };
        let (ours, theirs_of_it) = (milliseconds(cpu), milliseconds(their_cpu));
        let (peak, their_peak) = (megabytes(after.peak.saturating_sub(resting)), megabytes(their_peak));
        Ok(vec![
            time("p50", 50, page.goal),
            time("p99", 99, "none"),
            Figure {
                name: name("cpu"),
                value: ours,
                unit: "ms",
                peer: theirs_of_it,
                ratio: ours / theirs_of_it,
                goal: page.cpu_goal,
            },
            Figure {
                name: name("peak"),
                value: peak,
                unit: "MB",
                peer: their_peak,
                ratio: peak / their_peak,
                goal: "50 MB",
            },
        ])
    }
}

/// Number of objects that the hub has stored, of all accounts.
async fn stored(hub: &HubProcess) -> anyhow::Result<u64> {
    let accounts = hub.get("/v1/accounts").await?;
    let objects = accounts.as_array().into_iter().flatten().filter_map(|account| account.get("objects"));
    Ok(objects.filter_map(Value::as_u64).sum())
}

fn memmem(text: &[u8], word: &[u8]) -> usize {
    text.windows(word.len()).filter(|window| *window == word).count()
}
