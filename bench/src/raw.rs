//! The peer: a watch that receives the bytes of the agent's watch, and drops them.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use futures::StreamExt;
use spindrift_kubernetes::{
    Api, ApiOptions, Credentials, Event, EventStream, RawObject, WatchStart, WatchTarget,
};
use spindrift_model::{Resource, ResourceVersion};
use spindrift_testkit::{Cluster, PATIENCE};
use tokio::time::{Instant, timeout};

/// Longer than the benchmark needs a watch for.
const WATCH_TIMEOUT: Duration = Duration::from_mins(5);

/// Pods of all namespaces, over a connection of its own.
pub(crate) struct RawWatcher {
    api: Api,
    target: WatchTarget,
}

/// All pods, received once.
pub(crate) struct Listing {
    pub(crate) took: Duration,
    /// Where a watch goes on from it.
    pub(crate) version: ResourceVersion,
}

/// The changes after a listing.
pub(crate) struct Changes(EventStream);

// === impl RawWatcher ===

impl RawWatcher {
    pub(crate) async fn connect(cluster: &Cluster) -> anyhow::Result<Self> {
        let credentials = Credentials::Kubeconfig { path: cluster.kubeconfig().to_owned(), context: None };
        // Loopback, whatever proxy the machine has.
        let options = ApiOptions { no_proxy: true, ..ApiOptions::default() };
        let api = Api::connect(&credentials, &options).await?;
        // Also opens the connection, which the agent has open, too, when its account is attached.
        api.version().await?;
        let pods = Resource {
            group: "".into(),
            version: "v1".into(),
            kind: "Pod".into(),
            plural: "pods".into(),
            namespaced: true,
        };
        Ok(Self { api, target: WatchTarget::new(pods, None) })
    }

    /// Receives every pod there is.
    pub(crate) async fn list(&self, expected: usize) -> anyhow::Result<Listing> {
        let started = Instant::now();
        let start = WatchStart::InitialEvents { not_older_than: None };
        let mut events = self.api.watch(&self.target, start, WATCH_TIMEOUT).await?;
        let mut received = 0;
        loop {
            match next(&mut events).await? {
                Event::Object(_) => received += 1,
                Event::Bookmark { resource_version: version, initial_events_end: true } => {
                    ensure!(received == expected, "{received} pods instead of {expected}");
                    return Ok(Listing { took: started.elapsed(), version });
                }
                Event::Bookmark { .. } => {}
                event => bail!("unexpected in a listing: {event:?}"),
            }
        }
    }

    /// Changes after this version.
    pub(crate) async fn follow(&self, version: ResourceVersion) -> anyhow::Result<Changes> {
        Ok(Changes(self.api.watch(&self.target, WatchStart::Resume(version), WATCH_TIMEOUT).await?))
    }
}

// === impl Changes ===

impl Changes {
    pub(crate) async fn next(&mut self) -> anyhow::Result<RawObject> {
        loop {
            match next(&mut self.0).await? {
                Event::Object(pod) => return Ok(pod),
                Event::Bookmark { .. } => {}
                event => bail!("unexpected in a watch: {event:?}"),
            }
        }
    }
}

async fn next(events: &mut EventStream) -> anyhow::Result<Event> {
    let event = timeout(PATIENCE, events.next()).await.context("no event comes")?;
    Ok(event.context("the watch has ended")??)
}
