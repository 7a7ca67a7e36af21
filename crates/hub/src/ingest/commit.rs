//! Group commit: what is pending over all accounts goes into one transaction, since commits, not rows, are what a
//! store runs out of.

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
    clouddriver::RuleBook,
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

/// After this many tries, a group that a store which answers does not commit is taken apart: it may be the fault of one
/// account, whose statements take longer than the store allows.
const TRIES: u32 = 3;

/// An account that the store does not commit by itself is left alone for this long.
const REST: BackoffConfig =
    BackoffConfig { base: Duration::from_secs(1), multiplier: 2.0, jitter: 0.2, max: Duration::from_mins(1) };

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
    rules: RuleBook,
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
    /// Taken from the queue, but not fit for the group at hand: a second batch of the same account, or one that rests.
    waiting: VecDeque<Pending>,
    /// Accounts that the store would not commit. What they wait with is tried alone, so that it holds up nobody else.
    resting: HashMap<(TenantId, AccountName), Rest>,
}

struct Rest {
    backoff: Backoff,
    until: Instant,
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
        rules: RuleBook,
        feed: Arc<Feed>,
        metrics: Arc<Metrics>,
        config: CommitterConfig,
        shutdown: CancellationToken,
    ) -> (Self, impl Future<Output = Result<(), StoreError>>) {
        let (pending_tx, pending_rx) = mpsc::unbounded_channel();
        let (waiting, resting) = (VecDeque::new(), HashMap::new());
        let writer = Writer { store, feed, metrics, config, pending_rx, waiting, resting };
        (Self { rules, pending_tx }, writer.run(shutdown))
    }

    /// Hands in a write; the receiver tells when it is committed. Writes of one account keep their order.
    pub fn submit(&self, mut write: AccountWrite) -> oneshot::Receiver<CommitResult> {
        write.derivation = self.rules.of(&write.account);
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
            while let Ok(pending) = self.pending_rx.try_recv() {
                self.waiting.push_back(pending);
            }
            let group = self.take_group();
            if group.is_empty() {
                let rested = self.resting.values().map(|rest| rest.until).min();
                tokio::select! {
                    biased;
                    () = shutdown.cancelled() => return Ok(()),
                    Some(pending) = self.pending_rx.recv() => self.waiting.push_back(pending),
                    () = sleep_until(rested.unwrap_or_else(Instant::now)), if rested.is_some() => {}
                }
                continue;
            }
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
        let (mut bytes, mut alone) = (0, false);
        for pending in self.waiting.drain(..) {
            let size: usize = pending.write.upserts.iter().map(|object| object.body.len()).sum();
            let key = key(&pending.write);
            let rests = self.resting.get(&key).map(|rest| rest.until > Instant::now());
            let fits = match rests {
                Some(rests) => !rests && group.is_empty(),
                None if group.is_empty() => true,
                None => !alone && group.len() < self.config.accounts && bytes + size <= self.config.bytes,
            };
            // An account that is passed over once stays behind its own earlier batch.
            if accounts.insert(key) && fits {
                alone = rests.is_some();
                bytes += size;
                group.push(pending);
            } else {
                later.push_back(pending);
            }
        }
        self.waiting = later;
        group
    }

    /// Commits a group; one that the store does not take is bisected, so that one bad row or account hurts nobody else.
    async fn commit(&mut self, group: Vec<Pending>) {
        let mut groups = vec![(group, TRIES)];
        while let Some((group, tries)) = groups.pop() {
            let (writes, waiters): (Vec<_>, Vec<_>) =
                group.into_iter().map(|Pending { write, done_tx }| (write, done_tx)).unzip();
            let (store, all) = (&self.store, &writes);
            let error = match self.insist(tries, move || store.commit(all)).await {
                Ok(outcomes) => {
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
                debug!(%error, accounts = group.len(), "a group was not committed and is bisected");
                let second = group.split_off(group.len() / 2);
                let tries = if error.is_retryable() { 0 } else { TRIES };
                groups.extend([(second, tries), (group, tries)]);
                continue;
            }
            for pending in group {
                if error.is_retryable() {
                    self.rest(pending, &error);
                } else {
                    self.isolate(pending, &error).await;
                }
            }
        }
    }

    /// Tries until the store has decided. One that is away is waited for; one that answers, but not to this, is given up
    /// after some tries; at once, if it has just been seen to be so.
    async fn insist<T, F>(&self, tries: u32, commit: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, StoreError>>,
    {
        let mut backoff = Backoff::new(RETRY);
        let (mut failures, mut answers) = (0, tries == 0);
        loop {
            match commit().await {
                Err(error) if error.is_retryable() => {
                    if answers {
                        return Err(error);
                    }
                    failures += 1;
                    // One that has just come back is given another chance.
                    answers = failures >= tries && self.store.ping().await.is_ok();
                    self.wait(&mut backoff, &error).await;
                }
                decided => return decided,
            }
        }
    }

    /// Puts an account aside that the store does not commit; its next batches wait behind this one.
    fn rest(&mut self, pending: Pending, error: &StoreError) {
        self.metrics.commit_retries.inc();
        let fresh = || Rest { backoff: Backoff::new(REST), until: Instant::now() };
        let rest = self.resting.entry(key(&pending.write)).or_insert_with(fresh);
        let pause = rest.backoff.next();
        rest.until = Instant::now() + pause;
        warn!(account = %pending.write.account, error = report(error), retry_in = ?pause,
            "the store does not commit an account; it is tried again alone, and the others go on");
        self.waiting.push_front(pending);
    }

    /// One account whose batch is refused: its bad rows are left out and named.
    async fn isolate(&mut self, pending: Pending, cause: &StoreError) {
        let Pending { write, done_tx } = pending;
        let (store, one) = (&self.store, &write);
        match self.insist(TRIES, move || store.commit_isolating(one)).await {
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
            Err(error) if error.is_retryable() => self.rest(Pending { write, done_tx }, &error),
            Err(error) => {
                error!(account = %write.account, %error, %cause, "a batch cannot be committed; its account is detached");
                self.resting.remove(&key(&write));
                tell(done_tx, Err(format!("the hub could not store the batch: {error}")));
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
        self.resting.remove(&key(write));
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

fn key(write: &AccountWrite) -> (TenantId, AccountName) {
    (write.tenant.clone(), write.account.clone())
}

fn tell(done_tx: oneshot::Sender<CommitResult>, result: CommitResult) {
    if done_tx.send(result).is_err() {
        debug!("the session of a committed batch is gone");
    }
}
