//! The ledger: what happens to operations, written down in groups.
//!
//! Nothing that changes something is sent before its row is safe on disk, and to wait for the disk takes the same time
//! for one row as for a hundred. So the steps that come while one group is being written make up the next one; a step
//! that comes alone goes alone, and waits for nobody. What only reads goes on without waiting for its row.

use std::{collections::BTreeMap, convert::Infallible};

use futures::future::join_all;
use spindrift_process::report;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::store::{Step, Stepped, Store, StoreError};

/// Steps of one transaction. With more, the first would wait for the last, and so would all others who write.
const MOST_STEPS: usize = 32;

/// Bytes of requests after which a transaction takes no more.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Where drivers hand in their steps.
#[derive(Debug)]
pub(super) struct Ledger {
    entries_tx: mpsc::UnboundedSender<Entry>,
}

#[derive(Debug)]
enum Entry {
    Step(Step, oneshot::Sender<Written>),
    /// Somebody wants to know when all before it are written.
    Mark(oneshot::Sender<()>),
}

type Written = Result<Stepped, StoreError>;

/// Writes what is handed in.
struct Writer {
    store: Store,
    entries_rx: mpsc::UnboundedReceiver<Entry>,
}

/// What goes into one transaction.
#[derive(Default)]
struct Group {
    steps: Vec<Step>,
    /// Who waits for each of them.
    waiters: Vec<oneshot::Sender<Written>>,
    bytes: usize,
    marks: Vec<oneshot::Sender<()>>,
}

// === impl Ledger ===

impl Ledger {
    /// The ledger, and the task that writes it until shutdown.
    pub(super) fn new(
        store: Store,
        shutdown: CancellationToken,
    ) -> (Self, impl Future<Output = Result<(), Infallible>>) {
        let (entries_tx, entries_rx) = mpsc::unbounded_channel();
        (Self { entries_tx }, Writer { store, entries_rx }.run(shutdown))
    }

    /// Hands in a step, at once and before all that are handed in later; what is returned waits until it is written.
    pub(super) fn write(&self, step: Step) -> impl Future<Output = Written> + use<> {
        let (done_tx, done_rx) = oneshot::channel();
        self.hand_in(Entry::Step(step, done_tx));
        async { done_rx.await.unwrap_or_else(|_| Err(StoreError::stopping("write a step of an operation"))) }
    }

    /// Waits until all is written that was handed in before.
    pub(super) async fn written(&self) {
        let (done_tx, done_rx) = oneshot::channel();
        self.hand_in(Entry::Mark(done_tx));
        done_rx.await.ok();
    }

    fn hand_in(&self, entry: Entry) {
        // Dropped, it tells its waiter that nobody writes any more.
        if self.entries_tx.send(entry).is_err() {
            debug!("a step of an operation was handed in while the hub stops");
        }
    }
}

// === impl Writer ===

impl Writer {
    async fn run(mut self, shutdown: CancellationToken) -> Result<(), Infallible> {
        loop {
            let first = tokio::select! {
                // What was handed in before the end is still written.
                biased;
                Some(entry) = self.entries_rx.recv() => entry,
                () = shutdown.cancelled() => return Ok(()),
            };
            let mut group = Group::default();
            group.add(first);
            while group.has_room()
                && let Ok(entry) = self.entries_rx.try_recv()
            {
                group.add(entry);
            }
            self.write(group).await;
        }
    }

    async fn write(&self, Group { steps, waiters, marks, .. }: Group) {
        let together = if steps.len() > 1 { self.store.take_steps(&steps).await.map(Some) } else { Ok(None) };
        let written = match together {
            Ok(Some(written)) => written.into_iter().map(Ok).collect(),
            Ok(None) => self.one_by_one(&steps).await,
            // It may be the fault of one of them.
            Err(error) => {
                debug!(steps = steps.len(), error = %report(&error), "steps of operations are written one by one");
                self.one_by_one(&steps).await
            }
        };
        for (waiter, written) in waiters.into_iter().zip(written) {
            // A read is not held up by its row.
            if let Err(Err(error)) = waiter.send(written) {
                warn!(error = %report(&error), "a step of an operation was not written down");
            }
        }
        for mark in marks {
            mark.send(()).ok();
        }
    }

    /// Each by a commit of its own: those of one operation in their order, others without waiting for each other.
    async fn one_by_one(&self, steps: &[Step]) -> Vec<Written> {
        let mut lives: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (place, step) in steps.iter().enumerate() {
            lives.entry(step.operation()).or_default().push((place, step));
        }
        let take = async |life: Vec<(usize, &Step)>| {
            let mut written = Vec::with_capacity(life.len());
            for (place, step) in life {
                written.push((place, self.store.take_step(step).await));
            }
            written
        };
        let written = join_all(lives.into_values().map(take)).await;
        let mut written: Vec<_> = written.into_iter().flatten().collect();
        written.sort_by_key(|(place, _)| *place);
        written.into_iter().map(|(_, written)| written).collect()
    }
}

// === impl Group ===

impl Group {
    fn has_room(&self) -> bool {
        self.steps.len() < MOST_STEPS && self.bytes < MOST_BYTES
    }

    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Step(step, waiter) => {
                self.bytes += step.bytes();
                self.steps.push(step);
                self.waiters.push(waiter);
            }
            Entry::Mark(mark) => self.marks.push(mark),
        }
    }
}
