//! The one task that runs the controllers of all clusters.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, stream, stream::BoxStream, stream::SelectAll};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    managed_cluster::{Demand, Site, Work},
    pod::Trigger,
    reconcile::Tempo,
    timers::Timers,
};
use crate::cluster::{Cluster, Lagged, Notice, Subscription};

/// Handle to add clusters to the controller task.
#[derive(Clone)]
pub struct Controllers {
    clusters_tx: mpsc::UnboundedSender<Site>,
}

/// State of the task.
struct Engine {
    sites: Vec<Site>,
    notices: SelectAll<BoxStream<'static, Heard>>,
    timers: Timers<(usize, Work)>,
    queue: VecDeque<(usize, Work, Trigger)>,
    /// Items that are queued because of a change, so that each is queued once.
    queued: BTreeSet<(usize, Work)>,
}

/// Changes of one cluster.
type Heard = (usize, Result<Vec<Notice>, Lagged>);

/// Limit for requeue delays, since clients can name times that no clock can represent.
const LONGEST_WAIT: Duration = Duration::from_hours(365 * 24);

/// Number of items before the task yields the thread.
const BATCH: usize = 64;

// === impl Controllers ===

impl Controllers {
    /// Returns a handle and the task, which runs until `stop` is cancelled.
    pub fn new(
        stop: CancellationToken,
    ) -> (Self, impl Future<Output = Result<(), std::convert::Infallible>>) {
        // Unbounded: it takes one message per cluster of the process, all sent at start.
        let (clusters_tx, clusters_rx) = mpsc::unbounded_channel();
        let engine = Engine {
            sites: Vec::new(),
            notices: SelectAll::new(),
            timers: Timers::new(),
            queue: VecDeque::new(),
            queued: BTreeSet::new(),
        };
        (Self { clusters_tx }, engine.run(clusters_rx, stop))
    }

    /// Runs the controllers of a cluster, which keep at most `events` Event objects in it.
    pub fn lead(&self, cluster: &Arc<Cluster>, tempo: Tempo, seed: u64, events: usize) {
        // Without a receiver the process is shutting down.
        drop(self.clusters_tx.send(Site::new(Arc::clone(cluster), tempo, seed, events)));
    }
}

// === impl Engine ===

impl Engine {
    async fn run(
        mut self,
        mut clusters_rx: mpsc::UnboundedReceiver<Site>,
        stop: CancellationToken,
    ) -> Result<(), std::convert::Infallible> {
        loop {
            self.ring();
            if self.work() {
                // There is more work: only check whether other inputs are ready.
                tokio::task::yield_now().await;
            }
            let busy = !self.queue.is_empty();
            let due = self.timers.next().unwrap_or_else(|| Instant::now() + Duration::from_hours(1));
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                Some(site) = clusters_rx.recv() => self.lead(site),
                Some((site, notices)) = self.notices.next() => self.hear(site, notices),
                () = std::future::ready(()), if busy => {}
                () = sleep_until(due) => {}
            }
        }
    }

    fn lead(&mut self, site: Site) {
        let number = self.sites.len();
        let subscription = site.cluster.subscribe();
        self.notices.push(follow(number, subscription).boxed());
        for work in site.everything() {
            self.demand(number, work);
        }
        self.sites.push(site);
    }

    fn hear(&mut self, number: usize, notices: Result<Vec<Notice>, Lagged>) {
        let Some(site) = self.sites.get(number) else { return };
        let demands: Vec<_> = match notices {
            Ok(notices) => notices.iter().flat_map(|notice| site.demands(notice)).collect(),
            Err(Lagged) => site.everything().into_iter().map(Demand::Now).collect(),
        };
        let soon = Instant::now() + site.tempo.start / 4;
        for demand in demands {
            match demand {
                Demand::Now(work) => self.demand(number, work),
                Demand::Soon(work) => self.timers.set((number, work), soon),
            }
        }
    }

    fn demand(&mut self, number: usize, work: Work) {
        if self.queued.insert((number, work.clone())) {
            self.queue.push_back((number, work, Trigger::Change));
        }
    }

    /// Queues the items whose requeue time has come.
    fn ring(&mut self) {
        let now = Instant::now();
        while let Some((number, work)) = self.timers.pop(now) {
            self.queue.push_back((number, work, Trigger::Timer));
        }
    }

    /// Processes one batch of the queue; returns whether items are left.
    fn work(&mut self) -> bool {
        for _ in 0..BATCH {
            let Some((number, work, cause)) = self.queue.pop_front() else { return false };
            let key = (number, work);
            if cause == Trigger::Change {
                self.queued.remove(&key);
            }
            let Some(site) = self.sites.get_mut(number) else { continue };
            if let Some(after) = site.perform(&key.1, cause) {
                self.timers.set(key, Instant::now() + after.min(LONGEST_WAIT));
            }
        }
        !self.queue.is_empty()
    }
}

fn follow(number: usize, subscription: Subscription) -> impl futures::Stream<Item = Heard> + Send {
    stream::unfold(subscription, move |mut subscription| async move {
        let notices = subscription.next().await;
        Some(((number, notices), subscription))
    })
}
