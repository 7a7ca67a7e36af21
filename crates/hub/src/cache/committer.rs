//! Group commit: what is pending over all accounts goes into one transaction, since commits, not rows, are what a
//! store runs out of.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use spindrift_process::{
    backoff::{Backoff, BackoffConfig},
    report,
};
use spindrift_protocol::Rejected;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

use super::Feed;
use crate::{
    metrics::Metrics,
    store::{AccountWrite, Store, StoreError, WriteOutcome},
};

/// A store that is away or busy is asked again at this pace.
const RETRY: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(20),
    multiplier: 2.0,
    jitter: 0.2,
    max: Duration::from_secs(2),
};

/// How large one transaction may grow.
#[derive(Debug, Clone, Copy)]
pub struct CommitterConfig {
    /// Accounts in one transaction.
    pub accounts: usize,
    /// Bytes of object bodies in one transaction; one larger batch goes alone.
    pub bytes: usize,
}

/// Where sessions hand in their writes.
///
/// The queue has no bound of its own: what an account may have in it is bounded by its credit, and all credit by the
/// hub's budget. So sessions never wait here, and go on reading what their agents say.
#[derive(Debug, Clone)]
pub struct Committer {
    pending_tx: mpsc::UnboundedSender<Pending>,
}

/// A committed batch.
#[derive(Debug)]
pub struct Committed {
    /// Objects that the store would not take.
    pub rejected: Vec<Rejected>,
}

/// Why a batch is not committed: its attachment is over.
pub type CommitResult = Result<Committed, String>;

#[derive(Debug)]
struct Pending {
    write: AccountWrite,
    done_tx: oneshot::Sender<CommitResult>,
}

struct Writer {
    store: Store,
    feed: Arc<Feed>,
    metrics: Arc<Metrics>,
    config: CommitterConfig,
    pending_rx: mpsc::UnboundedReceiver<Pending>,
    /// Taken from the queue, but not fit for the group at hand: a second batch of the same account.
    waiting: VecDeque<Pending>,
}

// === impl CommitterConfig ===

impl Default for CommitterConfig {
    fn default() -> Self {
        // A transaction of 4 MB takes tens of milliseconds on every store; larger ones only make others wait.
        Self { accounts: 256, bytes: 4 * 1024 * 1024 }
    }
}

// === impl Committer ===

impl Committer {
    /// The committer, and the task that does its work until shutdown.
    pub fn new(
        store: Store,
        feed: Arc<Feed>,
        metrics: Arc<Metrics>,
        config: CommitterConfig,
        shutdown: CancellationToken,
    ) -> (Self, impl Future<Output = Result<(), StoreError>>) {
        let (pending_tx, pending_rx) = mpsc::unbounded_channel();
        let writer = Writer { store, feed, metrics, config, pending_rx, waiting: VecDeque::new() };
        (Self { pending_tx }, writer.run(shutdown))
    }

    /// Hands in a write; the receiver tells when it is committed. Writes of one account keep their order.
    pub fn submit(&self, write: AccountWrite) -> oneshot::Receiver<CommitResult> {
        let (done_tx, done_rx) = oneshot::channel();
        // A closed queue drops the sender, which the receiver sees: the hub is stopping.
        if self.pending_tx.send(Pending { write, done_tx }).is_err() {
            debug!("a batch arrived while the hub stops");
        }
        done_rx
    }
}

// === impl Writer ===

impl Writer {
    async fn run(mut self, shutdown: CancellationToken) -> Result<(), StoreError> {
        loop {
            if self.waiting.is_empty() {
                tokio::select! {
                    biased;
                    () = shutdown.cancelled() => return Ok(()),
                    Some(pending) = self.pending_rx.recv() => self.waiting.push_back(pending),
                }
            }
            while let Ok(pending) = self.pending_rx.try_recv() {
                self.waiting.push_back(pending);
            }
            let group = self.take_group();
            self.metrics.group(group.len());
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(()),
                () = self.commit(group) => {}
            }
        }
    }

    /// As many accounts as fit, each at most once: an account's next batch needs this one's outcome.
    fn take_group(&mut self) -> Vec<Pending> {
        let mut group = Vec::new();
        let mut later = VecDeque::new();
        let mut accounts = HashSet::new();
        let mut bytes = 0;
        for pending in self.waiting.drain(..) {
            let size: usize = pending.write.upserts.iter().map(|object| object.body.len()).sum();
            let key = (pending.write.tenant.clone(), pending.write.account.clone());
            let fits =
                group.is_empty() || (group.len() < self.config.accounts && bytes + size <= self.config.bytes);
            // An account that is passed over once stays behind its own earlier batch.
            if accounts.insert(key) && fits {
                bytes += size;
                group.push(pending);
            } else {
                later.push_back(pending);
            }
        }
        self.waiting = later;
        group
    }

    /// Commits a group; one that the store refuses is bisected, so that one bad row hurts nobody else.
    async fn commit(&mut self, group: Vec<Pending>) {
        let mut groups = vec![group];
        while let Some(mut group) = groups.pop() {
            let (writes, waiters): (Vec<_>, Vec<_>) = group.drain(..).map(|p| (p.write, p.done_tx)).unzip();
            let mut backoff = Backoff::new(RETRY);
            let committed = loop {
                match self.store.commit(&writes).await {
                    Err(error) if error.is_retryable() => self.wait(&mut backoff, &error).await,
                    result => break result,
                }
            };
            match committed {
                Ok(outcomes) => {
                    for ((write, done_tx), outcome) in writes.iter().zip(waiters).zip(outcomes) {
                        self.answer(write, done_tx, outcome, vec![]);
                    }
                }
                Err(error) if writes.len() > 1 => {
                    debug!(%error, accounts = writes.len(), "a group was refused and is bisected");
                    let mut halves: Vec<_> = writes
                        .into_iter()
                        .zip(waiters)
                        .map(|(write, done_tx)| Pending { write, done_tx })
                        .collect();
                    let second = halves.split_off(halves.len() / 2);
                    groups.extend([second, halves]);
                }
                Err(error) => {
                    for (write, done_tx) in writes.into_iter().zip(waiters) {
                        self.isolate(&write, done_tx, &error).await;
                    }
                }
            }
        }
    }

    /// One account whose batch is refused: its bad rows are left out and named.
    async fn isolate(
        &mut self,
        write: &AccountWrite,
        done_tx: oneshot::Sender<CommitResult>,
        cause: &StoreError,
    ) {
        let mut backoff = Backoff::new(RETRY);
        let committed = loop {
            match self.store.commit_isolating(write).await {
                Err(error) if error.is_retryable() => self.wait(&mut backoff, &error).await,
                result => break result,
            }
        };
        match committed {
            Ok((outcome, rows)) => {
                let rejected = rows
                    .into_iter()
                    .map(|row| {
                        warn!(account = %write.account, object = %row.key, reason = row.reason, "the store refused an object");
                        Rejected { object: row.key.to_string(), reason: row.reason }
                    })
                    .collect();
                self.answer(write, done_tx, outcome, rejected);
            }
            Err(error) => {
                error!(account = %write.account, %error, %cause, "a batch cannot be committed; its account is detached");
                tell(done_tx, Err(format!("the hub could not store the batch: {error}")));
            }
        }
    }

    fn answer(
        &self,
        write: &AccountWrite,
        done_tx: oneshot::Sender<CommitResult>,
        outcome: WriteOutcome,
        rejected: Vec<Rejected>,
    ) {
        let result = match outcome {
            WriteOutcome::Committed { seq, .. } => {
                self.metrics.committed(write);
                self.metrics.objects_rejected.inc_by(rejected.len() as u64);
                self.feed.advance([(write.account.clone(), seq)]);
                Ok(Committed { rejected })
            }
            WriteOutcome::Unfounded { seq } => {
                self.metrics.committed(write);
                self.feed.advance([(write.account.clone(), seq)]);
                Err("a listing counted on objects that are not stored; it is listed again".to_owned())
            }
            WriteOutcome::Stale => {
                self.metrics.batches_stale.inc();
                Err("another attachment has taken over the account".to_owned())
            }
        };
        tell(done_tx, result);
    }

    /// A store that is away or busy is asked again for as long as it takes: nothing is dropped, agents wait.
    async fn wait(&self, backoff: &mut Backoff, error: &StoreError) {
        self.metrics.commit_retries.inc();
        warn!(error = report(error), "the store did not commit; trying again");
        tokio::time::sleep(backoff.next()).await;
    }
}

fn tell(done_tx: oneshot::Sender<CommitResult>, result: CommitResult) {
    if done_tx.send(result).is_err() {
        debug!("the session of a committed batch is gone");
    }
}
