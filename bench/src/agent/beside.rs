//! The agent, the informer and a pipe with nothing behind, over the same pods of the same API server.

use std::time::Duration;

use spindrift_testkit::Cluster;

use super::informer::{self, Informed};
use crate::{
    figure::{Figure, median, megabytes},
    pods::Population,
    raw::RawWatcher,
    stack::{ProcessMemory, Stack},
};

/// One entry for each round.
#[derive(Default)]
pub(super) struct Beside {
    /// Receiving only.
    piped: Vec<Duration>,
    /// From the account's attachment until all is stored.
    synced: Vec<Duration>,
    /// From the start of the agent until all is stored.
    ready: Vec<Duration>,
    /// From the start of the informer until it holds all.
    held: Vec<Duration>,
    agents: Vec<ProcessMemory>,
    informers: Vec<ProcessMemory>,
}

/// All take turns, so that a noisy minute hurts each of them.
pub(super) async fn measure(
    cluster: &Cluster,
    raw: &RawWatcher,
    population: &Population,
    rounds: usize,
) -> anyhow::Result<Beside> {
    let pods = population.len();
    // Neither side pays for work that the API server does only once.
    raw.list(pods).await?;
    let mut beside = Beside::default();
    for _ in 0..rounds {
        let piped = raw.list(pods).await?.took;
        let stack = Stack::start(cluster).await?;
        let synced = stack.first_sync(pods).await?;
        let ready = stack.age();
        let agent = ProcessMemory::at_rest(stack.agent()).await?;
        drop(stack);
        let Informed { took: held, memory: informer } = informer::measure(cluster, pods).await?;
        eprintln!(
            "{pods} pods: received in {piped:.2?}; stored in {synced:.2?}, {ready:.2?} after the agent's start; \
             held by the informer {held:.2?} after its start"
        );
        beside.piped.push(piped);
        beside.synced.push(synced);
        beside.ready.push(ready);
        beside.held.push(held);
        beside.agents.push(agent);
        beside.informers.push(informer);
    }
    Ok(beside)
}

// === impl Beside ===

impl Beside {
    pub(super) fn figures(&self) -> [Figure; 4] {
        let memory = |name: &str, of: fn(&ProcessMemory) -> u64| {
            let (value, peer) = (median_memory(&self.agents, of), median_memory(&self.informers, of));
            Figure { name: name.to_owned(), value, unit: "MB", peer, ratio: value / peer, goal: "15 MB" }
        };
        let time = |name: &str, ours: &[Duration], peers: &[Duration], goal| {
            let (value, peer) = (median(ours).as_secs_f64(), median(peers).as_secs_f64());
            Figure { name: name.to_owned(), value, unit: "s", peer, ratio: value / peer, goal }
        };
        [
            memory("agent-peak-rss", |memory| memory.peak),
            memory("agent-steady-rss", |memory| memory.now),
            time("agent-first-sync", &self.synced, &self.piped, "1.5"),
            time("agent-first-sync-informer", &self.ready, &self.held, "1"),
        ]
    }

    /// The most memory that an agent had, in megabytes.
    pub(super) fn peak(&self) -> f64 {
        median_memory(&self.agents, |memory| memory.peak)
    }
}

fn median_memory(of: &[ProcessMemory], part: fn(&ProcessMemory) -> u64) -> f64 {
    megabytes(median(&of.iter().map(part).collect::<Vec<_>>()))
}
