//! Memory of the agent after a first sync: the same, however many pods there are.

use spindrift_testkit::Cluster;

use crate::{
    figure::{Figure, median, megabytes},
    pods::Population,
    stack::{ProcessMemory, Stack},
};

/// The memory of agents that have synced so many pods.
pub(crate) struct Memory {
    pods: usize,
    now: f64,
    peak: f64,
}

pub(crate) async fn measure(cluster: &Cluster, population: &Population) -> anyhow::Result<Memory> {
    let pods = population.len();
    let stack = Stack::start(cluster).await?;
    let took = stack.first_sync(pods).await?;
    eprintln!("first sync of {pods} pods: {took:.2?}, in {} batches", stack.batches().await?);
    Ok(Memory::new(pods, &[ProcessMemory::of(stack.agent())?]))
}

pub(crate) fn figures(small: &Memory, large: &Memory) -> [Figure; 3] {
    let figure = |name, of: &Memory, value, peer, ratio, goal| Figure {
        name: format!("{name}-{}", of.pods),
        value,
        unit: "MB",
        peer,
        ratio,
        goal,
    };
    let grown = large.now / small.now;
    [
        figure("agent-rss", small, small.now, large.now, grown, "1.2, 15 MB"),
        figure("agent-rss", large, large.now, small.now, grown, "1.2, 15 MB"),
        figure("agent-peak-rss", large, large.peak, small.peak, large.peak / small.peak, "15 MB"),
    ]
}

// === impl Memory ===

impl Memory {
    pub(crate) fn new(pods: usize, agents: &[ProcessMemory]) -> Self {
        let median_of =
            |part: fn(&ProcessMemory) -> u64| megabytes(median(&agents.iter().map(part).collect::<Vec<_>>()));
        Self { pods, now: median_of(|agent| agent.now), peak: median_of(|agent| agent.peak) }
    }
}
