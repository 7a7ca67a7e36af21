//! Time until the hub has every pod, against only receiving them.

use std::time::Duration;

use anyhow::Context;
use spindrift_testkit::Cluster;

use crate::{
    figure::{Figure, median},
    memory::Memory,
    pods::Population,
    raw::RawWatcher,
    stack::{ProcessMemory, Stack},
};

/// Peer and stack take turns, so that a noisy minute hurts both.
const ROUNDS: usize = 3;

/// One entry for each round.
#[derive(Default)]
pub(crate) struct FirstSync {
    pods: usize,
    raw: Vec<Duration>,
    ours: Vec<Duration>,
    agents: Vec<ProcessMemory>,
}

/// Measures all rounds; the stack of the last one still runs.
pub(crate) async fn measure(
    cluster: &Cluster,
    raw: &RawWatcher,
    population: &Population,
) -> anyhow::Result<(FirstSync, Stack)> {
    let pods = population.len();
    // Neither side pays for work that the API server does only once.
    raw.list(pods).await?;
    let mut rounds = FirstSync { pods, ..FirstSync::default() };
    let mut last = None;
    for _ in 0..ROUNDS {
        // The stack of the round before ends before the peer has its turn.
        drop(last.take());
        let received = raw.list(pods).await?.took;
        let stack = Stack::start(cluster).await?;
        let synced = stack.first_sync(pods).await?;
        let batches = stack.batches().await?;
        eprintln!(
            "first sync of {pods} pods: {synced:.2?}, in {batches} batches; only received: {received:.2?}"
        );
        rounds.raw.push(received);
        rounds.ours.push(synced);
        rounds.agents.push(ProcessMemory::of(stack.agent())?);
        last = Some(stack);
    }
    Ok((rounds, last.context("there were no rounds")?))
}

// === impl FirstSync ===

impl FirstSync {
    pub(crate) fn figure(&self) -> Figure {
        let (value, peer) = (median(&self.ours).as_secs_f64(), median(&self.raw).as_secs_f64());
        Figure { name: "first-sync".to_owned(), value, unit: "s", peer, ratio: value / peer, goal: "1.5" }
    }

    /// Memory of the agents when everything was stored.
    pub(crate) fn memory(&self) -> Memory {
        Memory::new(self.pods, &self.agents)
    }
}
