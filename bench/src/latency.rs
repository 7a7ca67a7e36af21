//! Time from a change until a reader of the hub sees it, against a watch of the API server itself.
//!
//! ```text
//! patch sent ──▶ API server ──▶ raw watch              the peer
//!                           ──▶ agent ══▶ hub ──▶ SSE  ours; both clocks start just before the patch
//! ```

use std::{collections::HashMap, time::Duration};

use anyhow::{Context, ensure};
use spindrift_testkit::Watch;
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};

use crate::{
    figure::{Figure, milliseconds, percentile},
    pods::{Population, Revision},
    raw::{Changes, RawWatcher},
    stack::{ACCOUNT, Stack},
};

/// Each patch is of a pod of its own: a feed may leave out outdated changes.
const PATCHES: usize = 300;

/// 50 a second: a busy cluster, and no queue anywhere.
const PACE: Duration = Duration::from_millis(20);

/// When each revision was first seen.
type Sightings = HashMap<Revision, Instant>;

pub(crate) async fn measure(
    raw: &RawWatcher,
    stack: &Stack,
    population: &Population,
) -> anyhow::Result<[Figure; 2]> {
    let patches = PATCHES.min(population.len());
    let version = raw.list(population.len()).await?.version;
    let changes = raw.follow(version).await?;
    let watch = open(stack).await?;
    let mut readers = JoinSet::new();
    // Tasks of their own, so that neither waits for the other, nor for the answer to a patch.
    let raw_reader = readers.spawn(see_raw(changes, patches)).id();
    readers.spawn(see_ours(watch, patches));

    eprintln!("patching {patches} pods");
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut sent = Vec::with_capacity(patches);
    for pod in 0..patches {
        pace.tick().await;
        let at = Instant::now();
        sent.push((population.touch(pod).await?, at));
    }

    let (mut raw, mut ours) = (Vec::new(), Vec::new());
    while let Some(reader) = readers.join_next_with_id().await {
        let (id, seen) = reader.context("a reader died")?;
        let latencies = latencies(&sent, &seen?)?;
        if id == raw_reader { raw = latencies } else { ours = latencies }
    }
    let later: Vec<_> = raw.iter().zip(&ours).map(|(raw, ours)| ours.saturating_sub(*raw)).collect();
    let [p50, p99] = [50, 99].map(|percent| percentile(&later, percent));
    eprintln!("seen by the hub's reader p50 {p50:.2?}, p99 {p99:.2?} after the raw watch");
    let figure = |percent, goal| {
        let value = milliseconds(percentile(&ours, percent));
        let peer = milliseconds(percentile(&raw, percent));
        let name = format!("event-latency-p{percent}");
        Figure { name, value, unit: "ms", peer, ratio: value / peer, goal }
    };
    Ok([figure(50, "2"), figure(99, "10 ms")])
}

/// The hub's feed from now on.
async fn open(stack: &Stack) -> anyhow::Result<Watch> {
    let page = stack.hub.get("/v1/objects?limit=1").await?;
    let position = page.get("position").and_then(serde_json::Value::as_str);
    let query = [("account", ACCOUNT), ("kind", "Pod")];
    let mut watch = stack.hub.watch(&query, position).await?;
    let first = watch.next().await?;
    ensure!(first.event == "synced", "the feed begins with {first:?}");
    Ok(watch)
}

async fn see_raw(mut changes: Changes, expected: usize) -> anyhow::Result<Sightings> {
    let mut seen = Sightings::new();
    while seen.len() < expected {
        let pod = changes.next().await.context("follow the API server")?;
        let revision = Revision { uid: pod.uid.to_string(), version: pod.resource_version.to_string() };
        seen.entry(revision).or_insert_with(Instant::now);
    }
    Ok(seen)
}

async fn see_ours(mut watch: Watch, expected: usize) -> anyhow::Result<Sightings> {
    let mut seen = Sightings::new();
    while seen.len() < expected {
        let event = watch.next().await.context("follow the hub")?;
        let field = |name| event.data.get(name).and_then(serde_json::Value::as_str);
        let (Some(uid), Some(version)) = (field("uid"), field("resourceVersion")) else { continue };
        let revision = Revision { uid: uid.to_owned(), version: version.to_owned() };
        seen.entry(revision).or_insert_with(Instant::now);
    }
    Ok(seen)
}

fn latencies(sent: &[(Revision, Instant)], seen: &Sightings) -> anyhow::Result<Vec<Duration>> {
    let latency = |(revision, at): &(Revision, Instant)| {
        let seen = seen.get(revision).with_context(|| format!("{revision:?} was never seen"))?;
        Ok(seen.duration_since(*at))
    };
    sent.iter().map(latency).collect()
}
