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
    managed_cluster::{ManagedCluster, Requeue, WorkItem},
    pod::Trigger,
    reconcile::Timing,
    timers::Timers,
};
use crate::cluster::{ChangeNotice, Cluster, Lagged, Subscription};

/// Handle to add clusters to the controller task.
#[derive(Clone)]
pub struct Controllers {
    clusters_tx: mpsc::UnboundedSender<ManagedCluster>,
}

/// State of the task.
struct ControlLoop {
    clusters: Vec<ManagedCluster>,
    notices: SelectAll<BoxStream<'static, ClusterNotices>>,
    timers: Timers<(usize, WorkItem)>,
    queue: VecDeque<(usize, WorkItem, Trigger)>,
    /// Items that are queued because of a change, so that each is queued once.
    queued: BTreeSet<(usize, WorkItem)>,
}

/// Changes of one cluster.
type ClusterNotices = (usize, Result<Vec<ChangeNotice>, Lagged>);

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
        let control_loop = ControlLoop {
            clusters: Vec::new(),
            notices: SelectAll::new(),
            timers: Timers::new(),
            queue: VecDeque::new(),
            queued: BTreeSet::new(),
        };
        (Self { clusters_tx }, control_loop.run(clusters_rx, stop))
    }

    /// Runs the controllers of a cluster, which keep at most `events` Event objects in it.
    pub fn manage(&self, cluster: &Arc<Cluster>, timing: Timing, seed: u64, events: usize) {
        // Without a receiver the process is shutting down.
        drop(self.clusters_tx.send(ManagedCluster::new(Arc::clone(cluster), timing, seed, events)));
    }
}

// === impl ControlLoop ===

impl ControlLoop {
    async fn run(
        mut self,
        mut clusters_rx: mpsc::UnboundedReceiver<ManagedCluster>,
        stop: CancellationToken,
    ) -> Result<(), std::convert::Infallible> {
        loop {
            self.queue_due();
            if self.work() {
                // There is more work: only check whether other inputs are ready.
                tokio::task::yield_now().await;
            }
            let busy = !self.queue.is_empty();
            let due = self.timers.next().unwrap_or_else(|| Instant::now() + Duration::from_hours(1));
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(()),
                Some(managed) = clusters_rx.recv() => self.manage(managed),
                Some((managed, notices)) = self.notices.next() => self.receive(managed, notices),
                () = std::future::ready(()), if busy => {}
                () = sleep_until(due) => {}
            }
        }
    }

    fn manage(&mut self, managed: ManagedCluster) {
        let number = self.clusters.len();
        let subscription = managed.cluster.subscribe();
        self.notices.push(follow(number, subscription).boxed());
        for work in managed.everything() {
            self.requeue(number, work);
        }
        self.clusters.push(managed);
    }

    fn receive(&mut self, number: usize, notices: Result<Vec<ChangeNotice>, Lagged>) {
        let Some(managed) = self.clusters.get(number) else { return };
        let requeues: Vec<_> = match notices {
            Ok(notices) => notices.iter().flat_map(|notice| managed.requeues(notice)).collect(),
            Err(Lagged) => managed.everything().into_iter().map(Requeue::Now).collect(),
        };
        let soon = Instant::now() + managed.timing.start / 4;
        for requeue in requeues {
            match requeue {
                Requeue::Now(work) => self.requeue(number, work),
                Requeue::Soon(work) => self.timers.set((number, work), soon),
            }
        }
    }

    fn requeue(&mut self, number: usize, work: WorkItem) {
        if self.queued.insert((number, work.clone())) {
            self.queue.push_back((number, work, Trigger::Change));
        }
    }

    /// Queues the items whose requeue time has come.
    fn queue_due(&mut self) {
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
            let Some(managed) = self.clusters.get_mut(number) else { continue };
            if let Some(after) = managed.perform(&key.1, cause) {
                self.timers.set(key, Instant::now() + after.min(LONGEST_WAIT));
            }
        }
        !self.queue.is_empty()
    }
}

fn follow(number: usize, subscription: Subscription) -> impl futures::Stream<Item = ClusterNotices> + Send {
    stream::unfold(subscription, move |mut subscription| async move {
        let notices = subscription.next().await;
        Some(((number, notices), subscription))
    })
}
