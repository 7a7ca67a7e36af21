//! The Events channel: attaches accounts, commits their batches and acknowledges them.
//!
//! ```text
//! chunks ─▶ Assembler ─▶ attach, batch, detach ─▶ work (store, committer) ─▶ attached, ack, detached, fingerprints
//!             never waits for ─────────────────────▶┘
//! ```

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use futures::{FutureExt, Stream, StreamExt, stream::FuturesUnordered};
use spindrift_model::{AccountName, Batch, Cursor, Epoch, SessionId};
use spindrift_process::{serve::ByteHold, shutdown::BoxError};
use spindrift_protocol::{Assembler, Assembly, EventsDown, EventsUp, InvalidMessage, Rejected, v1};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tracing::{debug, info, warn};

use super::{
    CommitResult, FoldedBatch, Ingest, ListBegun,
    attached::AttachedAccount,
    coverage::{CoverageCheck, Verdict},
};
use crate::store::{AttachOutcome, SessionInfo, StoreError};

/// Reason for which a channel ends: the agent has disconnected, or broke the protocol.
pub(super) type EndReason = String;

/// Parameters of an Events channel.
pub(crate) struct EventsOptions {
    pub(crate) ingest: Arc<Ingest>,
    pub(crate) session: SessionId,
    pub(crate) info: SessionInfo,
    /// Cancelled when the session ends; the channel cancels it when it ends itself.
    pub(crate) session_token: CancellationToken,
    pub(crate) down_tx: mpsc::Sender<Result<v1::EventsDown, Status>>,
    pub(crate) assembler: Assembler,
    /// Memory of a message whose last chunk has not arrived.
    pub(crate) unfinished: ByteHold,
    /// Set if the agent requests fingerprints of the stored objects of a scope that it lists.
    pub(crate) fingerprints: bool,
}

pub(crate) struct EventsChannel {
    pub(super) options: EventsOptions,
    pub(super) attached: HashMap<AccountName, AttachedAccount>,
    /// Accounts whose attach is in progress; an account that is detached meanwhile is removed.
    pub(super) attaching: HashSet<AccountName>,
    pub(super) renewing: bool,
    /// Scopes whose fingerprints are being read or sent.
    pub(super) fingerprint_reads: usize,
    /// End of the time for a message whose last chunk has not arrived.
    message_deadline: Option<Instant>,
    pub(super) coverage: CoverageCheck,
    pub(super) work: FuturesUnordered<EventsWork>,
}

/// Request to the store that runs while the channel reads on.
pub(super) type EventsWork = Pin<Box<dyn Future<Output = EventsWorkDone> + Send>>;

/// Result of a request to the store.
pub(super) enum EventsWorkDone {
    Attached(AccountName, Result<AttachOutcome, StoreError>),
    Committed(BatchOutcome),
    /// With the attachments that are over.
    Renewed(Result<Vec<(AccountName, Epoch)>, StoreError>),
    FingerprintsSent,
    /// The channel does not need the result.
    Nothing,
}

/// Result of the commit of a batch.
pub(super) struct BatchOutcome {
    account: AccountName,
    cursor: Cursor,
    bytes: usize,
    rejected: Vec<Rejected>,
    begun: Vec<ListBegun>,
    result: CommitResult,
}

/// Time from the first to the last chunk of a message: an object of 16 MiB at a mebibit per second, compressed.
const MESSAGE_DEADLINE: Duration = Duration::from_mins(2);

// === impl EventsChannel ===

impl EventsChannel {
    pub(crate) fn new(options: EventsOptions) -> Self {
        let grace = options.ingest.config.coverage_grace;
        Self {
            coverage: CoverageCheck::new(options.info.agent.clone(), grace),
            options,
            attached: HashMap::new(),
            attaching: HashSet::new(),
            renewing: false,
            fingerprint_reads: 0,
            message_deadline: None,
            work: FuturesUnordered::new(),
        }
    }

    /// Runs until the agent disconnects or the session ends, then releases the leases of its accounts.
    pub(crate) async fn run(
        mut self,
        up: impl Stream<Item = Result<v1::EventsUp, Status>> + Unpin,
    ) -> Result<(), BoxError> {
        let reason = match self.serve(up).await {
            Ok(never) => match never {},
            Err(reason) => reason,
        };
        let EventsOptions { info, session, session_token, .. } = &self.options;
        debug!(agent = %info.agent, %session, reason, "events channel ended");
        // A session without an Events channel is of no use: the agent registers again.
        session_token.cancel();
        self.release_all().await;
        Ok(())
    }

    /// Releases all accounts, including those whose attach is still in progress.
    async fn release_all(&mut self) {
        for account in self.attached.keys().cloned().collect::<Vec<_>>() {
            self.remove(&account);
        }
        while let Some(done) = self.work.next().await {
            let EventsWorkDone::Attached(account, Ok(AttachOutcome::Attached { attachment, .. })) = done
            else {
                continue;
            };
            self.release_lease(account, attachment.cursor.epoch);
        }
    }

    async fn serve(
        &mut self,
        mut up: impl Stream<Item = Result<v1::EventsUp, Status>> + Unpin,
    ) -> Result<Infallible, EndReason> {
        let token = self.options.session_token.clone();
        let down_tx = self.options.down_tx.clone();
        let mut renewal = tokio::time::interval(self.options.ingest.config.lease / 3);
        loop {
            tokio::select! {
                biased;
                () = token.cancelled() => return Err("the session ended".into()),
                () = down_tx.closed() => return Err("the agent is gone".into()),
                Some(done) = self.work.next() => self.finish(done).await?,
                _ = renewal.tick() => self.renew(),
                () = expired(self.message_deadline) => {
                    let late = format!("the last chunk of a message did not arrive within {MESSAGE_DEADLINE:?}");
                    self.fail(Status::deadline_exceeded(&late)).await;
                    return Err(late);
                }
                chunk = up.next() => {
                    let chunk = match chunk {
                        None => return Err("the agent closed it".into()),
                        Some(Err(status)) => {
                            let reason = format!("the link broke: {}", status.message());
                            // An agent that exceeded a limit receives the reason.
                            self.fail(status).await;
                            return Err(reason);
                        }
                        Some(Ok(chunk)) => chunk,
                    };
                    tokio::task::coop::consume_budget().await;
                    if chunk.heartbeat {
                        self.answer_heartbeat();
                        continue;
                    }
                    match self.assemble(chunk).await {
                        Ok(None) => {}
                        Ok(Some(message)) => self.handle(message).await?,
                        Err(invalid) => self.reject(&invalid).await?,
                    }
                    self.hold_unfinished().await?;
                }
            }
        }
    }

    /// Reads a chunk; gives the message when it was the last one. Between the parts of a large chunk, and between many
    /// small ones, the other tasks of this thread get their turn.
    async fn assemble(&mut self, chunk: v1::EventsUp) -> Result<Option<EventsUp>, InvalidMessage> {
        let assembler = &mut self.options.assembler;
        let mut assembly = assembler.accept(chunk)?;
        loop {
            match assembly {
                Assembly::Working => {
                    assembly = assembler.step()?;
                    if assembly == Assembly::Working {
                        tokio::task::yield_now().await;
                    }
                }
                Assembly::Incomplete => return Ok(None),
                Assembly::Message(message) => return EventsUp::try_from(message).map(Some),
            }
        }
    }

    /// Counts the memory of a message whose last chunk has not arrived, and begins its deadline.
    async fn hold_unfinished(&mut self) -> Result<(), EndReason> {
        let unfinished = self.options.assembler.unfinished();
        self.message_deadline = match (unfinished, self.message_deadline) {
            (None, _) => None,
            (Some(_), None) => Some(Instant::now() + MESSAGE_DEADLINE),
            (Some(_), begun) => begun,
        };
        let Err(exceeded) = self.options.unfinished.resize(unfinished.unwrap_or_default()) else {
            return Ok(());
        };
        warn!(agent = %self.options.info.agent, %exceeded, "events channel closed: no memory for its message");
        self.fail(Status::resource_exhausted(exceeded.to_string())).await;
        Err(exceeded.to_string())
    }

    /// Detaches the account of an invalid message, or ends the channel if the message names none.
    async fn reject(&mut self, invalid: &InvalidMessage) -> Result<(), EndReason> {
        let EventsOptions { ingest, info, .. } = &self.options;
        ingest.metrics.violations.inc();
        if let Some(account) = invalid.account() {
            warn!(%account, agent = %info.agent, %invalid, "account detached: batch not understood");
            return self.detach(account.clone(), invalid.to_string()).await;
        }
        // The account of the message is unknown, so any of them may be out of step.
        warn!(agent = %info.agent, %invalid, "events channel closed: message not understood");
        self.fail(Status::invalid_argument(invalid.to_string())).await;
        Err(invalid.to_string())
    }

    async fn handle(&mut self, message: EventsUp) -> Result<(), EndReason> {
        match message {
            EventsUp::Attach(account) => return self.attach(account).await,
            EventsUp::Batch(batch) => return self.batch(batch).await,
            EventsUp::Detach(account) => {
                info!(%account, agent = %self.options.info.agent, "account detached by its agent");
                self.attaching.remove(&account);
                self.remove(&account);
            }
        }
        Ok(())
    }

    async fn finish(&mut self, done: EventsWorkDone) -> Result<(), EndReason> {
        match done {
            EventsWorkDone::Attached(account, outcome) => self.finish_attach(account, outcome).await,
            EventsWorkDone::Committed(outcome) => self.acknowledge(outcome).await,
            EventsWorkDone::Renewed(outcome) => self.finish_renewal(outcome).await,
            EventsWorkDone::FingerprintsSent => {
                self.fingerprint_reads -= 1;
                Ok(())
            }
            EventsWorkDone::Nothing => Ok(()),
        }
    }

    async fn batch(&mut self, batch: Batch) -> Result<(), EndReason> {
        let (account, cursor) = (batch.account.clone(), batch.cursor);
        if self.attached.get(&account).is_none_or(|attached| cursor.epoch < attached.epoch()) {
            // It was in flight when the attachment ended; the agent has received the end.
            debug!(%account, epoch = %cursor.epoch, "a batch of an attachment that is over");
            self.options.ingest.metrics.batches_stale.inc();
            return Ok(());
        }
        match self.coverage.check(&batch) {
            Some(Verdict::Refused { reason, previous }) => {
                return self.refuse_coverage(account, reason, previous).await;
            }
            Some(Verdict::Accepted { reason }) => self.report_problem(&account, reason),
            None => {}
        }
        let Ingest { metrics, rules, committer, .. } = &*self.options.ingest;
        let Some(attached) = self.attached.get_mut(&account) else { return Ok(()) };
        let overdraft = attached.overdraw(&batch);
        let folded = overdraft.and_then(|over| Ok((attached.fold(batch, rules.rules(&account))?, over)));
        match folded {
            Ok(((FoldedBatch { write, rejected, begun }, bytes), overdraft)) => {
                for Rejected { object, reason } in &rejected {
                    warn!(%account, object, reason, "an object was not stored");
                }
                metrics.objects_rejected.inc_by(rejected.len() as u64);
                let done_rx = committer.submit(write);
                let committed = async move {
                    let result = done_rx.await.unwrap_or_else(|_| Err("the hub stops".into()));
                    drop(overdraft);
                    let outcome = BatchOutcome { account, cursor, bytes, rejected, begun, result };
                    EventsWorkDone::Committed(outcome)
                };
                self.work.push(committed.boxed());
                Ok(())
            }
            Err(violation) => {
                metrics.violations.inc();
                warn!(%account, agent = %self.options.info.agent, %violation, "account detached");
                self.detach(account, violation.to_string()).await
            }
        }
    }

    async fn acknowledge(&mut self, outcome: BatchOutcome) -> Result<(), EndReason> {
        let BatchOutcome { account, cursor, bytes, mut rejected, begun, result } = outcome;
        let attached = self.attached.get_mut(&account).filter(|attached| attached.epoch() == cursor.epoch);
        let is_current = attached.is_some();
        match result {
            Ok(committed) => {
                rejected.extend(committed.rejected);
                let credit_bytes = attached.and_then(|attached| attached.acknowledged(bytes));
                if self.options.fingerprints && is_current {
                    for begun in begun {
                        self.send_fingerprints(&account, cursor.epoch, begun);
                    }
                }
                self.send(EventsDown::Ack { account, cursor, rejected, credit_bytes }).await
            }
            // The first refusal ends the attachment; those of the batches behind it add nothing.
            Err(reason) if is_current => {
                info!(%account, epoch = %cursor.epoch, reason, "attachment ended");
                self.detach(account, reason).await
            }
            Err(_) => Ok(()),
        }
    }

    pub(super) async fn send(&mut self, message: EventsDown) -> Result<(), EndReason> {
        self.options.down_tx.send(Ok(message.into())).await.map_err(|_| "the agent is gone".to_owned())
    }

    /// Answers a heartbeat, unless other messages are waiting for the agent: then the channel is not idle.
    fn answer_heartbeat(&self) {
        if self.options.down_tx.try_send(Ok(EventsDown::Heartbeat.into())).is_err() {
            debug!("a heartbeat was not answered: messages are waiting");
        }
    }

    async fn fail(&mut self, status: Status) {
        if self.options.down_tx.send(Err(status)).await.is_err() {
            debug!("the agent is gone");
        }
    }
}

/// Waits for a deadline; without one, forever.
async fn expired(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
