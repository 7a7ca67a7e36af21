//! `spindrift-bench`: cost of the whole path on a real API server, beside a peer in the same run.
//!
//! ```text
//! pods ──▶ API server ──▶ raw                     the peer: the same bytes, nothing behind
//!                     ──▶ agent ══▶ hub ──▶ SQLite   the stack: until the hub shows them
//!
//! agent beside an informer of client-go: memory, time and bytes on the wire
//!
//! a deploy through hub and agent, beside the same calls straight to the API server
//!
//! Deck's pages of an application, beside a reader of the API servers; cost of rows for writers
//!
//! playground of 1,000 clusters ──▶ lists and watches of all of them
//!
//! figure <name> = <value> <unit> (peer <value>, ratio <r>, goal <g>)
//! ```
//!
//! A goal without a unit is for the ratio, one with a unit is for the value. The machine is shared and noisy: read
//! ratios, not seconds. Figures go to stdout, progress goes to stderr.

mod figure;

mod pods;

mod raw;
mod stack;

mod first_sync;
mod latency;
mod memory;

mod agent;

mod operations;

mod commits;
mod reads;

mod playground;

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Parser, ValueEnum};
use spindrift_testkit::{Cluster, binary};

use crate::{pods::Population, raw::RawWatcher};

/// Measures Spindrift on a real API server, beside a peer in the same run.
#[derive(Debug, Parser)]
#[command(name = "spindrift-bench", version)]
struct Arguments {
    /// A tenth of the pods: shows that the benchmark works, not how fast anything is.
    #[arg(long)]
    quick: bool,
    /// Measures only one part; otherwise all but the agent, whose figures are those of another build (`make bench-agent`).
    part: Option<Part>,
    /// Arguments of a part that the benchmark starts by itself.
    #[arg(hide = true)]
    told: Vec<String>,
}

/// A part that can be measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Agent and hub on a real API server.
    Stack,
    /// The agent beside an informer of client-go: memory, time and bytes on the wire.
    Agent,
    /// Deploys through hub and agent, beside the same calls straight to the API server.
    Operations,
    /// Pages of an application with ten thousand pods, and the cost of their rows for writers.
    Reads,
    /// Only the latter.
    Commits,
    /// The peer of the pages.
    #[value(hide = true)]
    ReadLive,
    /// A thousand simulated clusters.
    Playground,
}

/// Number of pods while time is measured, and at the end.
struct Sizes {
    small: usize,
    large: usize,
}

const FULL: Sizes = Sizes { small: 2_000, large: 10_000 };
const QUICK: Sizes = Sizes { small: 200, large: 1_000 };

#[tokio::main]
async fn main() -> ExitCode {
    spindrift_process::tls::install_provider();
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spindrift-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(Arguments { quick, part, told }: Arguments) -> anyhow::Result<()> {
    if part == Some(Part::ReadLive) {
        let [page, turns, urls @ ..] = &told[..] else { bail!("read-live <page> <turns> <url>…") };
        return reads::read_live(page, turns.parse()?, urls).await;
    }
    let wanted = |one| part.map_or(one != Part::Agent, |part| part == one);
    for program in ["spindrift", "spindrift-agent", "spindrift-hub"] {
        binary(program)?;
    }
    if wanted(Part::Stack) {
        stack(if quick { QUICK } else { FULL }).await?;
    }
    if wanted(Part::Agent) {
        agent::measure(if quick { &agent::QUICK } else { &agent::FULL }).await?;
    }
    if wanted(Part::Operations) {
        let size = if quick { operations::QUICK } else { operations::FULL };
        for figure in operations::measure(&size).await? {
            println!("{figure}");
        }
    }
    if wanted(Part::Reads) {
        for figure in reads::measure(if quick { &reads::QUICK } else { &reads::FULL }).await? {
            println!("{figure}");
        }
    }
    if wanted(Part::Commits) || part == Some(Part::Reads) {
        for figure in commits::measure(if quick { &commits::QUICK } else { &commits::FULL }).await? {
            println!("{figure}");
        }
    }
    if wanted(Part::Playground) {
        let size = if quick { playground::QUICK } else { playground::FULL };
        for figure in playground::measure(&size).await? {
            println!("{figure}");
        }
    }
    Ok(())
}

async fn stack(sizes: Sizes) -> anyhow::Result<()> {
    let cluster = Cluster::builder().bare().start().await.context("start a cluster")?;
    let raw = RawWatcher::connect(&cluster).await?;
    let mut population = Population::new(&cluster).await?;

    population.grow_to(sizes.small).await?;
    let (first_sync, stack) = first_sync::measure(&cluster, &raw, &population).await?;
    println!("{}", first_sync.figure());
    for figure in latency::measure(&raw, &stack, &population).await? {
        println!("{figure}");
    }
    // An agent that is still there would follow the changes, and take time from the others.
    drop(stack);

    population.grow_to(sizes.large).await?;
    let large = memory::measure(&cluster, &population).await?;
    for figure in memory::figures(&first_sync.memory(), &large) {
        println!("{figure}");
    }
    Ok(())
}
