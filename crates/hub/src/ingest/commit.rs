//! Group commit: one transaction for the pending writes of all accounts, since databases are limited by commits, not by
//! rows.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use spindrift_model::{AccountName, TenantId};
use spindrift_process::{
    backoff::{Backoff, BackoffConfig},
    report,
};
use spindrift_protocol::Rejected;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error, warn};

use super::Feed;
use crate::{
    metrics::Metrics,
    store::{AccountWrite, Store, StoreError, WriteOutcome, WriteProbe},
};

/// Backoff while the store is unavailable or busy.
const RETRY: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(20),
    multiplier: 2.0,
    jitter: 0.2,
    max: Duration::from_secs(2),
};

/// Attempts after which a group that a reachable store does not commit is bisected: the cause may be one account, whose
/// statements take longer than the store allows.
const ATTEMPTS: u32 = 3;

/// Backoff of an account that the store does not commit even alone.
const ACCOUNT_RETRY: BackoffConfig =
    BackoffConfig { base: Duration::from_secs(1), multiplier: 2.0, jitter: 0.2, max: Duration::from_mins(1) };

/// Longest such pause if the store is the cause, not the account: a disk has room again from one moment to the next.
const UNWRITABLE_RETRY: Duration = Duration::from_secs(5);

/// Limits of one transaction.
#[derive(Debug, Clone, Copy)]
pub struct CommitterConfig {
    /// Accounts in one transaction.
    pub accounts: usize,
    /// Bytes of object bodies in one transaction; a larger batch is committed alone.
    pub bytes: usize,
}

/// Queue of writes to commit.
///
/// The queue has no bound of its own: the credit of an account bounds its writes in it, and the hub's budget bounds all
/// credit. So sessions never wait here, and go on reading from their agents.
#[derive(Debug, Clone)]
pub struct Committer {
    pending_tx: mpsc::UnboundedSender<Pending>,
}

/// A committed batch.
#[derive(Debug)]
pub struct Committed {
    /// Objects that the database refused.
    pub rejected: Vec<Rejected>,
}

/// Result of a commit; the error is the reason for which the attachment ends.
pub type CommitResult = Result<Committed, String>;

#[derive(Debug)]
struct Pending {
    write: AccountWrite,
    done_tx: oneshot::Sender<CommitResult>,
}

struct GroupWriter {
    store: Store,
    probe: Arc<WriteProbe>,
    feed: Arc<Feed>,
    metrics: Arc<Metrics>,
    config: CommitterConfig,
    pending_rx: mpsc::UnboundedReceiver<Pending>,
    /// Taken from the queue, but not part of the current group: a second batch of the same account, or one in backoff.
    waiting: VecDeque<Pending>,
    /// Accounts that the store did not commit. Their batches are retried alone, so that they delay no other account.
    backing_off: HashMap<(TenantId, AccountName), AccountBackoff>,
}

struct AccountBackoff {
    backoff: Backoff,
    until: Instant,
    /// Set if the store is the cause: it is full, read-only or broken.
    unwritable: bool,
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
    /// Returns the committer, and the task that writes until shutdown.
    pub fn new(
        store: Store,
        probe: Arc<WriteProbe>,
        feed: Arc<Feed>,
        metrics: Arc<Metrics>,
        config: CommitterConfig,
        shutdown: CancellationToken,
    ) -> (Self, impl Future<Output = Result<(), StoreError>>) {
        let (pending_tx, pending_rx) = mpsc::unbounded_channel();
        let (waiting, backing_off) = (VecDeque::new(), HashMap::new());
        let writer = GroupWriter { store, probe, feed, metrics, config, pending_rx, waiting, backing_off };
        (Self { pending_tx }, writer.run(shutdown))
    }

    /// Queues a write; the receiver gets the result of its commit. Writes of one account keep their order.
    pub fn submit(&self, write: AccountWrite) -> oneshot::Receiver<CommitResult> {
        let (done_tx, done_rx) = oneshot::channel();
        // A closed queue drops the sender, which the receiver sees: the hub is stopping.
        if self.pending_tx.send(Pending { write, done_tx }).is_err() {
            debug!("a batch arrived while the hub stops");
        }
        done_rx
    }
}

// === impl GroupWriter ===

impl GroupWriter {
    async fn run(mut self, shutdown: CancellationToken) -> Result<(), StoreError> {
        loop {
            while let Ok(pending) = self.pending_rx.try_recv() {
                self.waiting.push_back(pending);
            }
            let group = self.take_group();
            if group.is_empty() {
                let retry_at = self.backing_off.values().map(|backoff| backoff.until).min();
                tokio::select! {
                    biased;
                    () = shutdown.cancelled() => return Ok(()),
                    Some(pending) = self.pending_rx.recv() => self.waiting.push_back(pending),
                    () = sleep_until(retry_at.unwrap_or_else(Instant::now)), if retry_at.is_some() => {}
                }
                continue;
            }
            self.metrics.group(group.len());
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(()),
                () = self.commit(group) => {}
            }
            let unwritten = self.backing_off.values().filter(|account| account.unwritable).count();
            self.probe.set_unwritten_accounts(unwritten);
        }
    }

    /// Takes as many accounts as fit, each at most once: an account's next batch needs this one's outcome.
    fn take_group(&mut self) -> Vec<Pending> {
        let mut group = Vec::new();
        let mut later = VecDeque::new();
        let mut accounts = HashSet::new();
        let (mut bytes, mut alone) = (0, false);
        for pending in self.waiting.drain(..) {
            let size: usize = pending.write.upserts.iter().map(|object| object.body.len()).sum();
            let key = key(&pending.write);
            let backs_off = self.backing_off.get(&key).map(|backoff| backoff.until > Instant::now());
            let fits = match backs_off {
                Some(backs_off) => !backs_off && group.is_empty(),
                None if group.is_empty() => true,
                None => !alone && group.len() < self.config.accounts && bytes + size <= self.config.bytes,
            };
            // A later batch of an account that is skipped stays behind its earlier one.
            if accounts.insert(key) && fits {
                alone = backs_off.is_some();
                bytes += size;
                group.push(pending);
            } else {
                later.push_back(pending);
            }
        }
        self.waiting = later;
        group
    }

    /// Commits a group. A group that fails is bisected, so that one bad row or account affects no other account.
    async fn commit(&mut self, group: Vec<Pending>) {
        let mut groups = vec![(group, ATTEMPTS)];
        while let Some((group, attempts)) = groups.pop() {
            let (writes, waiters): (Vec<_>, Vec<_>) =
                group.into_iter().map(|Pending { write, done_tx }| (write, done_tx)).unzip();
            let (store, all, began) = (&self.store, &writes, Instant::now());
            let error = match self.retry(attempts, move || store.commit(all)).await {
                Ok(outcomes) => {
                    self.metrics.commit_time.observe(began.elapsed().as_secs_f64());
                    for ((write, done_tx), outcome) in writes.iter().zip(waiters).zip(outcomes) {
                        self.answer(write, done_tx, outcome, vec![]);
                    }
                    continue;
                }
                Err(error) => error,
            };
            let pending = writes.into_iter().zip(waiters).map(|(write, done_tx)| Pending { write, done_tx });
            let mut group: Vec<_> = pending.collect();
            if group.len() > 1 {
                debug!(
                    error = report(&error),
                    accounts = group.len(),
                    "a group was not committed and is bisected"
                );
                let second = group.split_off(group.len() / 2);
                let attempts = if error.is_retryable() { 0 } else { ATTEMPTS };
                groups.extend([(second, attempts), (group, attempts)]);
                continue;
            }
            for pending in group {
                if error.is_retryable() {
                    self.back_off(pending, &error);
                } else {
                    self.isolate(pending, &error).await;
                }
            }
        }
    }

    /// Retries until the store has decided. While the store accepts no writes, it retries without a limit; if the store
    /// accepts others but does not commit these, it gives up after `attempts`, with 0 at the first failure.
    async fn retry<T, F>(&self, attempts: u32, commit: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut backoff = Backoff::new(RETRY);
        let (mut failures, mut writable) = (0, attempts == 0);
        loop {
            match commit().await {
                Err(error) if error.is_retryable() => {
                    if writable {
                        return Err(error);
                    }
                    failures += 1;
                    // One more attempt after the probe: the store may have just come back.
                    writable = failures >= attempts && self.probe.write().await.is_ok();
                    self.wait(&mut backoff, &error).await;
                }
                decided => return decided,
            }
        }
    }

    /// Delays an account that the store does not commit; its next batches wait behind this one.
    fn back_off(&mut self, pending: Pending, error: &StoreError) {
        self.metrics.commit_retries.inc();
        let unwritable = error.is_unwritable();
        let new =
            || AccountBackoff { backoff: Backoff::new(ACCOUNT_RETRY), until: Instant::now(), unwritable };
        let account = self.backing_off.entry(key(&pending.write)).or_insert_with(new);
        let longest = if unwritable { UNWRITABLE_RETRY } else { ACCOUNT_RETRY.max };
        let pause = account.backoff.next().min(longest);
        account.unwritable = unwritable;
        account.until = Instant::now() + pause;
        warn!(account = %pending.write.account, error = report(error), retry_in = ?pause,
            "the store does not commit an account; retrying it alone");
        self.waiting.push_front(pending);
    }

    /// Commits the batch of one account row by row; refused rows are left out and reported.
    async fn isolate(&mut self, pending: Pending, cause: &StoreError) {
        let Pending { write, done_tx } = pending;
        let (store, one) = (&self.store, &write);
        match self.retry(ATTEMPTS, move || store.commit_isolating(one)).await {
            Ok((outcome, rows)) => {
                let rejected = rows
                    .into_iter()
                    .map(|row| {
                        warn!(account = %write.account, object = %row.key, reason = row.reason, "the store refused an object");
                        Rejected { object: row.key.to_string(), reason: row.reason }
                    })
                    .collect();
                self.answer(&write, done_tx, outcome, rejected);
            }
            Err(error) if error.is_retryable() => self.back_off(Pending { write, done_tx }, &error),
            Err(error) => {
                error!(account = %write.account, error = report(&error), cause = report(cause), "a batch cannot be committed; its account is detached");
                self.backing_off.remove(&key(&write));
                send(
                    done_tx,
                    Err(format!("the hub could not store the batch: {error}; its log has the cause")),
                );
            }
        }
    }

    fn answer(
        &mut self,
        write: &AccountWrite,
        done_tx: oneshot::Sender<CommitResult>,
        outcome: WriteOutcome,
        rejected: Vec<Rejected>,
    ) {
        self.backing_off.remove(&key(write));
        let result = match outcome {
            WriteOutcome::Committed { seq, .. } => {
                self.metrics.committed(write);
                self.metrics.objects_rejected.inc_by(rejected.len() as u64);
                self.feed.advance([(write.account.clone(), seq)]);
                Ok(Committed { rejected })
            }
            WriteOutcome::MissingExpected { seq } => {
                self.metrics.committed(write);
                self.feed.advance([(write.account.clone(), seq)]);
                Err("a listing counted on objects that are not stored; it is listed again".to_owned())
            }
            WriteOutcome::Stale => {
                self.metrics.batches_stale.inc();
                Err("another attachment has taken over the account".to_owned())
            }
        };
        send(done_tx, result);
    }

    /// Waits before the next attempt: no batch is dropped, agents wait.
    async fn wait(&self, backoff: &mut Backoff, error: &StoreError) {
        self.metrics.commit_retries.inc();
        warn!(error = report(error), "the store did not commit; retrying");
        tokio::time::sleep(backoff.next()).await;
    }
}

fn key(write: &AccountWrite) -> (TenantId, AccountName) {
    (write.tenant.clone(), write.account.clone())
}

fn send(done_tx: oneshot::Sender<CommitResult>, result: CommitResult) {
    if done_tx.send(result).is_err() {
        debug!("the session of a committed batch is gone");
    }
}
