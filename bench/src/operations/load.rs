//! Cost of small operations while an account is busy: a thousand deploys in progress, and lists of 20 MB in sequence.
//!
//! The peer sends the same to the API server, at the same time: a shortage of the machine affects both.

use std::time::Duration;

use anyhow::{bail, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Deployer, Mode, peer::Peer};
use crate::{
    figure::{Figure, milliseconds, percentile},
    stack::Stack,
};

/// Deploys that are under way at the same time.
const DEPLOYS: usize = 1_000;
/// The objects that they are of.
const OBJECTS: usize = 100;

/// Size of the list: so many objects of a megabyte.
const LARGE: usize = 20;
const MEGABYTE: usize = 1_000_000;

/// Something small, and its two ways.
struct Probe {
    name: &'static str,
    verb: Value,
    method: &'static str,
    path: String,
    body: Value,
}

/// Duration of a small operation, on each side.
#[derive(Default)]
struct Taken {
    through: Vec<Duration>,
    straight: Vec<Duration>,
}

pub(super) async fn measure(
    stack: &Stack,
    ours: &Deployer,
    peer: &Peer,
    probes: usize,
) -> anyhow::Result<Vec<Figure>> {
    let namespace = &ours.namespace;
    for number in 0..LARGE {
        let value: String = std::iter::repeat_with(fastrand::alphanumeric).take(MEGABYTE).collect();
        let metadata = json!({ "name": format!("large-{number}"), "labels": { "size": "large" } });
        let data = json!({ "value": value });
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        peer.send("POST", &path, "application/json", &map).await?;
    }
    // An object of its own, which is not deployed meanwhile.
    ours.deploy(Mode::ClientSide, OBJECTS + 1, 0).await?;
    let small = Probe::all(namespace, &format!("ours-client-side-{}", OBJECTS + 1));

    let (idle, idle_ping) = probe(stack, &small, ours, peer, probes).await?;
    let (loaded, loaded_ping) = tokio::select! {
        loaded = probe(stack, &small, ours, peer, probes) => loaded?,
        ended = async { tokio::try_join!(deploy(ours), list(ours)) } => {
            ended?;
            bail!("the load has ended before what was measured under it")
        }
    };
    let mut figures = Vec::new();
    for (when, taken) in [("idle", idle), ("loaded", loaded)] {
        let both = small.iter().zip(&taken);
        figures.extend(both.flat_map(|(probe, taken)| taken.figures(&format!("{}-{when}", probe.name))));
    }
    let (value, peer) = (milliseconds(loaded_ping), milliseconds(idle_ping));
    let name = "ping-loaded-slowest".to_owned();
    figures.push(Figure { name, value, unit: "ms", peer, ratio: value / peer, goal: "none" });
    Ok(figures)
}

/// Deploys on and on.
async fn deploy(ours: &Deployer) -> anyhow::Result<()> {
    let deploys = stream::iter(1..).map(|turn| ours.deploy(Mode::ClientSide, 1 + turn % OBJECTS, turn));
    deploys.buffer_unordered(DEPLOYS).try_for_each(|_| async { Ok(()) }).await
}

/// Lists on and on.
async fn list(ours: &Deployer) -> anyhow::Result<()> {
    let verb = json!({
        "verb": "list", "kind": "ConfigMap", "namespace": ours.namespace, "labelSelector": "size=large",
    });
    loop {
        let answer = ours.hub.ask(&verb).await?;
        let length = answer.body.len();
        ensure!(answer.is_done() && length > LARGE * MEGABYTE, "a list has only {length} bytes");
    }
}

/// Performs small operations in sequence, by turns; returns also the slowest ping meanwhile.
async fn probe(
    stack: &Stack,
    small: &[Probe],
    ours: &Deployer,
    peer: &Peer,
    probes: usize,
) -> anyhow::Result<(Vec<Taken>, Duration)> {
    let mut all: Vec<Taken> = small.iter().map(|_| Taken::default()).collect();
    let mut ping = Duration::ZERO;
    for _ in 0..probes {
        for (probe, taken) in small.iter().zip(&mut all) {
            let begun = Instant::now();
            peer.send(probe.method, &probe.path, "application/merge-patch+json", &probe.body).await?;
            taken.straight.push(begun.elapsed());
            let begun = Instant::now();
            let answer = ours.hub.ask(&probe.verb).await?;
            taken.through.push(begun.elapsed());
            ensure!(answer.is_done(), "{}: {}", probe.name, String::from_utf8_lossy(&answer.body));
        }
        ping = ping.max(stack.last_ping().await?);
    }
    Ok((all, ping))
}

// === impl Probe ===

impl Probe {
    fn all(namespace: &str, name: &str) -> [Self; 2] {
        let target = json!({ "kind": "Deployment", "namespace": namespace, "name": name });
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
        let get = Self {
            name: "get",
            verb: json!({ "verb": "get", "target": &target }),
            method: "GET",
            path: path.clone(),
            body: Value::Null,
        };
        let scale = Self {
            name: "scale",
            // Another number than the peer's, so that there is always something to do.
            verb: json!({ "verb": "scale", "target": target, "replicas": 4 }),
            method: "PATCH",
            path: format!("{path}/scale"),
            body: json!({ "spec": { "replicas": 3 } }),
        };
        [get, scale]
    }
}

// === impl Taken ===

impl Taken {
    fn figures(&self, name: &str) -> [Figure; 2] {
        [50, 99].map(|percent| {
            let value = milliseconds(percentile(&self.through, percent));
            let peer = milliseconds(percentile(&self.straight, percent));
            let name = format!("{name}-p{percent}");
            Figure { name, value, unit: "ms", peer, ratio: value / peer, goal: "none" }
        })
    }
}
