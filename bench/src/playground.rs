//! Cost of a thousand simulated clusters in one process, and the rate of changes that they can send.
//!
//! ```text
//! spindrift playground --clusters 1000              ◀── list and watch of each: memory, start
//! spindrift playground --clusters 1000 --pods 100   ◀── a watch of each: changes that arrive in a second
//! ```
//!
//! The peer is a playground of a tenth of the clusters, or of one.

pub(crate) mod process;
mod watchers;

use std::time::Duration;

use anyhow::ensure;
use futures::{StreamExt, TryStreamExt, stream};
use tokio::time::{Instant, sleep};

use crate::figure::Figure;
use process::Process;
use watchers::Watchers;

/// Number of clusters.
pub(crate) struct PlaygroundSize {
    clusters: usize,
    peer: usize,
    /// Time for which changes are counted at each rate.
    window: Duration,
}

pub(crate) const FULL: PlaygroundSize =
    PlaygroundSize { clusters: 1_000, peer: 100, window: Duration::from_secs(5) };
pub(crate) const QUICK: PlaygroundSize =
    PlaygroundSize { clusters: 50, peer: 5, window: Duration::from_secs(1) };

/// Requested changes per second, until the playground cannot keep up.
const RATES: [u32; 7] = [500, 1_000, 2_000, 5_000, 10_000, 20_000, 40_000];

/// A rate is kept if so much of it arrives.
const KEPT: f64 = 0.9;

/// Long enough for all shops to open on a busy machine.
const SETTLE_LIMIT: Duration = Duration::from_mins(5);

/// The programs of a small shop; each has a pod at least.
const PROGRAMS: usize = 3;

/// Enough to keep both sides busy.
const IN_FLIGHT: usize = 16;

struct Shops {
    megabytes: f64,
    start: Duration,
}

pub(crate) async fn measure(size: &PlaygroundSize) -> anyhow::Result<Vec<Figure>> {
    let PlaygroundSize { clusters, peer, window } = size;
    let few = shops(*peer).await?;
    let many = shops(*clusters).await?;
    let one = changes(1, *window).await?;
    let all = changes(*clusters, *window).await?;
    let figure = |name: &str, value: f64, unit, peer: f64, goal| Figure {
        name: format!("playground-{name}-{clusters}"),
        value,
        unit,
        peer,
        ratio: value / peer,
        goal,
    };
    Ok(vec![
        figure("rss", many.megabytes, "MB", few.megabytes, "1000 MB"),
        figure("start", many.start.as_secs_f64(), "s", few.start.as_secs_f64(), "5 s"),
        figure("changes", all, "/s", one, "1000 /s"),
    ])
}

/// So many shops whose programs run, and whose clusters were listed and are watched.
async fn shops(clusters: usize) -> anyhow::Result<Shops> {
    let (process, start) = Process::start(&["--clusters", &clusters.to_string()]).await?;
    let names = process.clusters().await?;
    ensure!(names.len() == clusters, "{} clusters instead of {clusters}", names.len());
    let settled = stream::iter(&names).map(|name| settles(&process, name));
    settled.buffer_unordered(IN_FLIGHT).try_collect::<()>().await?;
    let watchers = Watchers::open(&process, &names).await?;
    let memory = process.memory()?;
    eprintln!("{clusters} shops: start {start:.2?}, {memory:.0} MB with a watch each");
    drop(watchers);
    Ok(Shops { megabytes: memory, start })
}

/// Lists the pods of a cluster until its programs run. Life goes on, so some pod is always about to start.
async fn settles(process: &Process, cluster: &str) -> anyhow::Result<()> {
    let deadline = Instant::now() + SETTLE_LIMIT;
    loop {
        let pods = process.get(&format!("/clusters/{cluster}/api/v1/pods?limit=500")).await?;
        if pods.matches(r#""phase":"Running""#).count() >= PROGRAMS {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "the pods of {cluster} do not start");
        sleep(Duration::from_secs(1)).await;
    }
}

/// Changes per second that arrive at the watchers of so many clusters.
async fn changes(clusters: usize, window: Duration) -> anyhow::Result<f64> {
    let mut best = 0.0_f64;
    for rate in RATES {
        let (clusters, asked) = (clusters.to_string(), rate.to_string());
        let load = ["--clusters", &clusters, "--pods", "100", "--changes-per-second", &asked];
        let (process, _) = Process::start(&load).await?;
        let watchers = Watchers::open(&process, &process.clusters().await?).await?;
        let arrived = watchers.count(window).await?;
        let memory = process.memory()?;
        eprintln!("{clusters} clusters, {asked} changes per second: {arrived:.0} arrive, {memory:.0} MB");
        best = best.max(arrived);
        if arrived < f64::from(rate) * KEPT {
            break;
        }
    }
    Ok(best)
}
