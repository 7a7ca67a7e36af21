//! Cost of the agent, beside that of a controller in Go: memory, time and bytes on the wire.
//!
//! ```text
//! pods ──▶ API server ──▶ raw                        the same bytes, nothing behind
//!                     ──▶ informer (client-go)       the same pods, all of them kept
//!                     ──▶ agent ══▶ hub ──▶ SQLite   ours; for `wire` with a counter on the way
//!
//! playground ──▶ agent ══▶ hub    ten times the pods; a hundred accounts
//! ```

mod accounts;
mod beside;
mod flat;
mod informer;
mod wire;

use anyhow::Context;
use spindrift_testkit::Cluster;

use crate::{figure::Figure, pods::Population, raw::RawWatcher};

/// Sizes of a run.
pub(crate) struct AgentSize {
    /// On the real API server.
    pods: usize,
    /// In the playground, to show that memory does not grow.
    many_pods: usize,
    accounts: usize,
    rounds: usize,
    wire: wire::WireSize,
}

pub(crate) const FULL: AgentSize =
    AgentSize { pods: 10_000, many_pods: 100_000, accounts: 100, rounds: 3, wire: wire::FULL };
pub(crate) const QUICK: AgentSize =
    AgentSize { pods: 1_000, many_pods: 10_000, accounts: 10, rounds: 1, wire: wire::QUICK };

pub(crate) async fn measure(size: &AgentSize) -> anyhow::Result<()> {
    let cluster = Cluster::builder().bare().start().await.context("start a cluster")?;
    let raw = RawWatcher::connect(&cluster).await?;
    let mut population = Population::new(&cluster).await?;
    population.grow_to(size.pods).await?;

    let beside = beside::measure(&cluster, &raw, &population, size.rounds).await?;
    print(beside.figures());
    print(wire::measure(&cluster, &population, &size.wire).await?);
    // The rest needs no API server, and is better off without one beside it.
    drop(cluster);
    print([flat::measure(size.many_pods, beside.peak()).await?]);
    print(accounts::measure(size.accounts).await?);
    Ok(())
}

fn print(figures: impl IntoIterator<Item = Figure>) {
    for figure in figures {
        println!("{figure}");
    }
}
