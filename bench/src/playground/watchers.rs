//! A watch of the pods of each cluster, whose events are counted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{IN_FLIGHT, process::Process};

/// Open watches, and the number of events of all of them.
pub(super) struct Watchers {
    lines: Arc<AtomicU64>,
    readers: JoinSet<()>,
}

#[derive(Deserialize)]
struct ListPage {
    metadata: ListMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
}

// === impl Watchers ===

impl Watchers {
    pub(super) async fn open(process: &Process, clusters: &[String]) -> anyhow::Result<Self> {
        let opened =
            stream::iter(clusters).map(|cluster| watch(process, cluster)).buffer_unordered(IN_FLIGHT);
        let answers: Vec<_> = opened.try_collect().await?;
        let lines = Arc::new(AtomicU64::new(0));
        let mut readers = JoinSet::new();
        for answer in answers {
            let lines = Arc::clone(&lines);
            readers.spawn(async move {
                let mut body = answer.bytes_stream();
                while let Some(Ok(chunk)) = body.next().await {
                    let ends: u64 = chunk.iter().map(|byte| u64::from(*byte == b'\n')).sum();
                    lines.fetch_add(ends, Ordering::Relaxed);
                }
            });
        }
        Ok(Self { lines, readers })
    }

    /// Events per second.
    pub(super) async fn count(mut self, window: Duration) -> anyhow::Result<f64> {
        // Events that were due while the watches were opened come first.
        sleep(window).await;
        let (begun, before) = (Instant::now(), self.lines.load(Ordering::Relaxed));
        sleep(window).await;
        let arrived = self.lines.load(Ordering::Relaxed) - before;
        let seconds = begun.elapsed().as_secs_f64();
        ensure!(self.readers.try_join_next().is_none(), "a watch has ended");
        Ok(f64::from(u32::try_from(arrived).context("too many events to count")?) / seconds)
    }
}

/// Watches from now on.
async fn watch(process: &Process, cluster: &str) -> anyhow::Result<reqwest::Response> {
    let pods = format!("/clusters/{cluster}/api/v1/pods");
    let ListPage { metadata } = serde_json::from_str(&process.get(&format!("{pods}?limit=1")).await?)?;
    process
        .open(&format!("{pods}?watch=1&timeoutSeconds=3000&resourceVersion={}", metadata.resource_version))
        .await
}
