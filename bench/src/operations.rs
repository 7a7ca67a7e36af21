//! Cost of a deploy through hub and agent, beside the same calls straight to the API server.
//!
//! ```text
//! client-side:  peer ── GET, PATCH ─▶ API server        ours ── POST ─▶ hub ══ agent ── GET, PATCH ─▶ API server
//! server-side:  peer ── PATCH ──────▶ API server        ours ── POST ─▶ hub ══ agent ── PATCH ──────▶ API server
//! ```
//!
//! Both take turns on connections that are open; each deploy changes the image, so that there is something to do. Then
//! the same for small operations, while nothing else happens, and while a thousand deploys are in progress.

mod load;
mod peer;

use std::time::Duration;

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use spindrift_testkit::{Cluster, Operations};
use tokio::time::Instant;

use crate::{
    figure::{Figure, milliseconds, percentile},
    stack::{ACCOUNT, Stack},
};
use peer::Peer;

/// Number of deploys.
pub(crate) struct OperationsSize {
    /// One after the other, on each side.
    turns: usize,
    /// As fast as it goes.
    flood: usize,
    /// Small ones, one after the other, while nothing else happens and while much does.
    probes: usize,
}

pub(crate) const FULL: OperationsSize = OperationsSize { turns: 300, flood: 3_000, probes: 100 };
pub(crate) const QUICK: OperationsSize = OperationsSize { turns: 30, flood: 200, probes: 20 };

/// Not measured: connections open, schemas are read, caches fill.
const WARM_UP: usize = 20;

/// Deploys that are under way at the same time, each of an object of its own.
const AT_ONCE: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    ClientSide,
    ServerSide,
}

pub(crate) async fn measure(size: &OperationsSize) -> anyhow::Result<Vec<Figure>> {
    let cluster = Cluster::builder().bare().start().await.context("start a cluster")?;
    let namespace = cluster.namespace("shop").await?;
    // The cache follows the deployed objects, as in production.
    let stack = Stack::of_kinds(&cluster, &["Deployment"]).await?;
    let ours = Deployer { hub: stack.hub.operations(ACCOUNT), namespace: namespace.clone() };
    let peer = Peer::new(cluster.client(), namespace);
    stack.watches(1).await?;

    let mut figures = Vec::new();
    for mode in [Mode::ClientSide, Mode::ServerSide] {
        figures.extend(turns(&ours, &peer, mode, size.turns).await?);
        figures.push(flood(&ours, &peer, mode, size.flood).await?);
    }
    figures.extend(load::measure(&stack, &ours, &peer, size.probes).await?);
    Ok(figures)
}

/// Deploys one after the other, by turns.
async fn turns(ours: &Deployer, peer: &Peer, mode: Mode, turns: usize) -> anyhow::Result<[Figure; 2]> {
    let (mut through, mut straight) = (Vec::new(), Vec::new());
    for turn in 0..turns + WARM_UP {
        let (theirs, mine) = (peer.deploy(mode, 0, turn).await?, ours.deploy(mode, 0, turn).await?);
        if turn >= WARM_UP {
            straight.push(theirs);
            through.push(mine);
        }
    }
    let figure = |percent, goal| {
        let value = milliseconds(percentile(&through, percent));
        let peer = milliseconds(percentile(&straight, percent));
        let name = format!("deploy-{}-p{percent}", mode.name());
        Figure { name, value, unit: "ms", peer, ratio: value / peer, goal }
    };
    Ok([figure(50, mode.goal()), figure(99, "none")])
}

/// Deploys many at once: the limit of one agent.
async fn flood(ours: &Deployer, peer: &Peer, mode: Mode, deploys: usize) -> anyhow::Result<Figure> {
    // All objects are there before the clock runs.
    for object in 1..=AT_ONCE {
        peer.deploy(mode, object, 0).await?;
        ours.deploy(mode, object, 0).await?;
    }
    let begun = Instant::now();
    let each = |turn: usize| (1 + turn % AT_ONCE, 1 + turn);
    let straight = stream::iter((0..deploys).map(each).map(|(object, turn)| peer.deploy(mode, object, turn)));
    straight.buffer_unordered(AT_ONCE).try_for_each(|_| async { Ok(()) }).await?;
    let straight = begun.elapsed();
    let begun = Instant::now();
    let through = stream::iter((0..deploys).map(each).map(|(object, turn)| ours.deploy(mode, object, turn)));
    through.buffer_unordered(AT_ONCE).try_for_each(|_| async { Ok(()) }).await?;
    let through = begun.elapsed();

    let rate = |took: Duration| f64::from(u32::try_from(deploys).unwrap_or(u32::MAX)) / took.as_secs_f64();
    let (value, peer) = (rate(through), rate(straight));
    let name = format!("deploys-per-second-{}", mode.name());
    Ok(Figure { name, value, unit: "/s", peer, ratio: value / peer, goal: "none" })
}

/// Deploys through hub and agent.
struct Deployer {
    hub: Operations,
    namespace: String,
}

// === impl Deployer ===

impl Deployer {
    async fn deploy(&self, mode: Mode, object: usize, turn: usize) -> anyhow::Result<Duration> {
        let name = format!("ours-{}-{object}", mode.name());
        let verb = json!({
            "verb": "apply",
            "mode": mode.name(),
            "fieldManager": "bench",
            "manifest": manifest(&self.namespace, &name, turn),
        });
        let begun = Instant::now();
        let answer = self.hub.ask(&verb).await?;
        let took = begun.elapsed();
        ensure!(answer.is_done(), "deploy {name}: {}", String::from_utf8_lossy(&answer.body));
        Ok(took)
    }
}

// === impl Mode ===

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClientSide => "client-side",
            Self::ServerSide => "server-side",
        }
    }

    fn goal(self) -> &'static str {
        match self {
            Self::ClientSide => "2",
            Self::ServerSide => "1.5",
        }
    }
}

/// A Deployment as a team would write it, with another image in every turn.
pub(crate) fn manifest(namespace: &str, name: &str, turn: usize) -> Value {
    let labels = json!({ "app": name, "tier": "front" });
    let container = |container: &str, image: String| {
        json!({
            "name": container,
            "image": image,
            "ports": [{ "name": "http", "containerPort": 8080 }],
            "env": [
                { "name": "COLOUR", "value": "blue" },
                { "name": "POD", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
            ],
            "resources": { "requests": { "cpu": "100m", "memory": "128Mi" }, "limits": { "memory": "256Mi" } },
            "readinessProbe": { "httpGet": { "path": "/ready", "port": 8080 }, "periodSeconds": 5 },
            "volumeMounts": [{ "name": "config", "mountPath": "/config" }],
        })
    };
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name, "namespace": namespace, "labels": &labels },
        "spec": {
            "replicas": 3,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": &labels },
                "spec": {
                    "containers": [container("app", format!("shop:{turn}")), container("proxy", "proxy:1".to_owned())],
                    "volumes": [{ "name": "config", "configMap": { "name": "settings" } }],
                },
            },
        },
    })
}
