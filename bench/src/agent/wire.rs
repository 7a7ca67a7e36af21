//! Bytes from the agent to the hub, against those from the API server to the agent: JSON with `managedFields`, before
//! any compression. Bytes of TCP and HTTP/2 beside the events (frames, pings) count as ours.

use std::time::Duration;

use spindrift_testkit::{Cluster, Traffic};
use tokio::time::sleep;

use crate::{
    figure::{Figure, median},
    pods::Population,
    stack::Stack,
};

/// Number of updates of each sort.
pub(crate) struct WireSize {
    /// Times that the same pods change.
    repeats: usize,
    /// Pods that change once.
    strangers: usize,
    /// Pods that change after silence.
    silences: usize,
}

pub(crate) const FULL: WireSize = WireSize { repeats: 30, strangers: 40, silences: 5 };
pub(crate) const QUICK: WireSize = WireSize { repeats: 5, strangers: 10, silences: 2 };

/// Pods that change again and again: few enough that the channel remembers them.
const REPEATED: usize = 8;

/// Each update travels alone, and the channel does not fall idle.
const PACE: Duration = Duration::from_millis(50);

/// Long enough for a channel to fall idle.
const SILENCE: Duration = Duration::from_secs(20);

/// Bytes that were sent, and those that the API server sent for them.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    objects: usize,
    wire: u64,
    raw: u64,
}

struct Meter<'a> {
    stack: Stack,
    population: &'a Population,
    /// Pods below this one have changed already.
    next_stranger: usize,
}

pub(super) async fn measure(
    cluster: &Cluster,
    population: &Population,
    size: &WireSize,
) -> anyhow::Result<[Figure; 4]> {
    let pods = population.len();
    let stack = Stack::counted(cluster).await?;
    stack.first_sync(pods).await?;
    let Traffic { up, down } = stack.wire()?;
    let bulk = Cost { objects: pods, wire: up, raw: population.bytes().await? };
    eprintln!("first sync: {} bytes of JSON, {up} sent to the hub, {down} back", bulk.raw);

    let mut meter = Meter { stack, population, next_stranger: REPEATED };
    // The first time the pods are strangers, too.
    meter.repeat(1).await?;
    let repeated = meter.repeat(size.repeats).await?;
    let strangers = meter.strangers(size.strangers).await?;
    let mut silences = Vec::new();
    for _ in 0..size.silences {
        sleep(SILENCE).await;
        silences.push(meter.strangers(1).await?);
    }
    // By the median of the shares: a ping that comes between would be a good part of a lone update.
    silences.sort_by_key(|cost| cost.wire);
    let middle = median(&silences.iter().map(|cost| cost.wire).collect::<Vec<_>>());
    let silent = silences.into_iter().find(|cost| cost.wire == middle).unwrap_or_default();
    Ok([
        bulk.figure("first-sync", "0.02"),
        repeated.figure("repeated", "0.02"),
        strangers.figure("single", "0.04"),
        silent.figure("after-silence", "0.06"),
    ])
}

// === impl Meter ===

impl Meter<'_> {
    /// The same few pods change, again and again.
    async fn repeat(&self, times: usize) -> anyhow::Result<Cost> {
        // Numbers that go on from those before, so that each status is new.
        let first = self.stack.upserted().await?;
        let updates = (first..).take(times).flat_map(|time| (0..REPEATED).map(move |pod| (pod, time)));
        self.update(updates).await
    }

    /// Pods change that did not change before.
    async fn strangers(&mut self, count: usize) -> anyhow::Result<Cost> {
        let first = self.next_stranger;
        self.next_stranger += count;
        self.update((first..first + count).map(|pod| (pod, 1))).await
    }

    async fn update(&self, updates: impl Iterator<Item = (usize, usize)>) -> anyhow::Result<Cost> {
        let (before, stored) = (self.stack.wire()?.up, self.stack.upserted().await?);
        let mut cost = Cost::default();
        for (pod, restarts) in updates {
            cost.raw += self.population.restart(pod, restarts).await?;
            cost.objects += 1;
            sleep(PACE).await;
        }
        self.stack.upserts(stored + cost.objects).await?;
        cost.wire = self.stack.wire()?.up - before;
        Ok(cost)
    }
}

// === impl Cost ===

impl Cost {
    /// Bytes per object, and their share of the API server's bytes.
    fn figure(&self, name: &str, goal: &'static str) -> Figure {
        let per_object = |bytes: u64| {
            let bytes = u32::try_from(bytes / self.objects.max(1) as u64).unwrap_or(u32::MAX);
            f64::from(bytes)
        };
        let (value, peer) = (per_object(self.wire), per_object(self.raw));
        Figure { name: format!("agent-wire-bytes-{name}"), value, unit: "B", peer, ratio: value / peer, goal }
    }
}
