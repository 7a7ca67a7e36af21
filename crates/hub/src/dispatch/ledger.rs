//! Ledger: group commit of the steps of operations.
//!
//! A change is not sent before its row is safe on disk, and waiting for the disk takes the same time for one row as for a
//! hundred. So the steps that arrive while one group is being written make up the next one; a single step is written alone
//! and at once. Reads go on without waiting for their rows.

use std::{collections::BTreeMap, convert::Infallible};

use futures::future::join_all;
use spindrift_process::report;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::store::{Step, Stepped, Store, StoreError};

/// Steps of one transaction. With more, the first would wait for the last, and so would all other writers.
const MOST_STEPS: usize = 32;

/// Bytes of requests after which a transaction takes no more.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Queue of steps to write.
#[derive(Debug)]
pub(super) struct Ledger {
    entries_tx: mpsc::UnboundedSender<LedgerEntry>,
}

#[derive(Debug)]
enum LedgerEntry {
    Step(Step, oneshot::Sender<Written>),
    /// Notified when all entries before it are written.
    Mark(oneshot::Sender<()>),
}

type Written = Result<Stepped, StoreError>;

/// Writes the queued steps.
struct LedgerWriter {
    store: Store,
    entries_rx: mpsc::UnboundedReceiver<LedgerEntry>,
}

/// Steps of one transaction.
#[derive(Default)]
struct StepGroup {
    steps: Vec<Step>,
    /// Waiter of each step.
    waiters: Vec<oneshot::Sender<Written>>,
    bytes: usize,
    marks: Vec<oneshot::Sender<()>>,
}

// === impl Ledger ===

impl Ledger {
    /// Returns the ledger, and the task that writes it until shutdown.
    pub(super) fn new(
        store: Store,
        shutdown: CancellationToken,
    ) -> (Self, impl Future<Output = Result<(), Infallible>>) {
        let (entries_tx, entries_rx) = mpsc::unbounded_channel();
        (Self { entries_tx }, LedgerWriter { store, entries_rx }.run(shutdown))
    }

    /// Queues a step at once, before all later ones; the returned future waits until it is written.
    pub(super) fn write(&self, step: Step) -> impl Future<Output = Written> + use<> {
        let (done_tx, done_rx) = oneshot::channel();
        self.enqueue(LedgerEntry::Step(step, done_tx));
        async { done_rx.await.unwrap_or_else(|_| Err(StoreError::stopping("write a step of an operation"))) }
    }

    /// Waits until all steps that were queued before are written.
    pub(super) async fn written(&self) {
        let (done_tx, done_rx) = oneshot::channel();
        self.enqueue(LedgerEntry::Mark(done_tx));
        done_rx.await.ok();
    }

    fn enqueue(&self, entry: LedgerEntry) {
        // Its waiter gets an error when it is dropped.
        if self.entries_tx.send(entry).is_err() {
            debug!("a step of an operation was queued while the hub stops");
        }
    }
}

// === impl LedgerWriter ===

impl LedgerWriter {
    async fn run(mut self, shutdown: CancellationToken) -> Result<(), Infallible> {
        loop {
            let first = tokio::select! {
                // Steps that were queued before the end are still written.
                biased;
                Some(entry) = self.entries_rx.recv() => entry,
                () = shutdown.cancelled() => return Ok(()),
            };
            let mut group = StepGroup::default();
            group.add(first);
            while group.has_room()
                && let Ok(entry) = self.entries_rx.try_recv()
            {
                group.add(entry);
            }
            self.write(group).await;
        }
    }

    async fn write(&self, StepGroup { steps, waiters, marks, .. }: StepGroup) {
        let together = if steps.len() > 1 { self.store.take_steps(&steps).await.map(Some) } else { Ok(None) };
        let written = match together {
            Ok(Some(written)) => written.into_iter().map(Ok).collect(),
            Ok(None) => self.one_by_one(&steps).await,
            // One of them may be invalid.
            Err(error) => {
                debug!(steps = steps.len(), error = %report(&error), "steps of operations are written one by one");
                self.one_by_one(&steps).await
            }
        };
        for (waiter, written) in waiters.into_iter().zip(written) {
            // A read does not wait for its row.
            if let Err(Err(error)) = waiter.send(written) {
                warn!(error = %report(&error), "a step of an operation was not written");
            }
        }
        for mark in marks {
            mark.send(()).ok();
        }
    }

    /// Writes each step in a transaction of its own: those of one operation in order, others concurrently.
    async fn one_by_one(&self, steps: &[Step]) -> Vec<Written> {
        let mut operations: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (place, step) in steps.iter().enumerate() {
            operations.entry(step.operation()).or_default().push((place, step));
        }
        let take = async |steps: Vec<(usize, &Step)>| {
            let mut written = Vec::with_capacity(steps.len());
            for (place, step) in steps {
                written.push((place, self.store.take_step(step).await));
            }
            written
        };
        let written = join_all(operations.into_values().map(take)).await;
        let mut written: Vec<_> = written.into_iter().flatten().collect();
        written.sort_by_key(|(place, _)| *place);
        written.into_iter().map(|(_, written)| written).collect()
    }
}

// === impl StepGroup ===

impl StepGroup {
    fn has_room(&self) -> bool {
        self.steps.len() < MOST_STEPS && self.bytes < MOST_BYTES
    }

    fn add(&mut self, entry: LedgerEntry) {
        match entry {
            LedgerEntry::Step(step, waiter) => {
                self.bytes += step.bytes();
                self.steps.push(step);
                self.waiters.push(waiter);
            }
            LedgerEntry::Mark(mark) => self.marks.push(mark),
        }
    }
}
