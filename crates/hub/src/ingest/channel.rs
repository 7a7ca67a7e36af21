//! The Events channel: accounts are attached, their batches committed and acknowledged.
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
};

use futures::{FutureExt, Stream, StreamExt, stream::FuturesUnordered};
use spindrift_model::{AccountName, Batch, Cursor, Epoch, SessionId};
use spindrift_process::shutdown::BoxError;
use spindrift_protocol::{Assembler, EventsDown, EventsUp, InvalidMessage, Rejected, v1};
use tokio::sync::mpsc;
use tonic::Status;
use tracing::{debug, info, warn};

use super::{
    Begun, CommitResult, Folded,
    attached::Hold,
    coverage::{Judgement, Succession},
};
use crate::{
    session::{Context, Live},
    store::{AttachOutcome, SessionInfo, StoreError},
};

/// What a channel must be rid of: the agent has gone, or speaks nonsense.
pub(super) type Ended = String;

/// What an Events channel is opened with.
pub(crate) struct EventsOptions {
    pub(crate) context: Arc<Context>,
    pub(crate) session: SessionId,
    pub(crate) info: SessionInfo,
    pub(crate) live: Arc<Live>,
    pub(crate) down_tx: mpsc::Sender<Result<v1::EventsDown, Status>>,
    pub(crate) assembler: Assembler,
    /// Whether the agent wants to know what is stored of a scope that it lists.
    pub(crate) fingerprints: bool,
}

pub(crate) struct EventsChannel {
    pub(super) options: EventsOptions,
    pub(super) holds: HashMap<AccountName, Hold>,
    /// Accounts whose attach is on its way; one that is detached meanwhile is not among them.
    pub(super) attaching: HashSet<AccountName>,
    pub(super) renewing: bool,
    pub(super) succession: Succession,
    pub(super) work: FuturesUnordered<Work>,
}

/// What the store is asked to do for the channel, while it reads on.
pub(super) type Work = Pin<Box<dyn Future<Output = Done> + Send>>;

/// What became of it.
pub(super) enum Done {
    Attached(AccountName, Result<AttachOutcome, StoreError>),
    Committed(Outcome),
    /// With the attachments that are over.
    Renewed(Result<Vec<(AccountName, Epoch)>, StoreError>),
    /// Nobody waits for it.
    Nothing,
}

/// What became of a batch.
pub(super) struct Outcome {
    account: AccountName,
    cursor: Cursor,
    bytes: usize,
    rejected: Vec<Rejected>,
    begun: Vec<Begun>,
    result: CommitResult,
}

// === impl EventsChannel ===

impl EventsChannel {
    pub(crate) fn new(options: EventsOptions) -> Self {
        let grace = options.context.config.succession_grace;
        Self {
            succession: Succession::new(options.info.agent.clone(), grace),
            options,
            holds: HashMap::new(),
            attaching: HashSet::new(),
            renewing: false,
            work: FuturesUnordered::new(),
        }
    }

    /// Runs until the agent leaves or the session ends; then its accounts are free for others.
    pub(crate) async fn run(
        mut self,
        up: impl Stream<Item = Result<v1::EventsUp, Status>> + Unpin,
    ) -> Result<(), BoxError> {
        let reason = match self.serve(up).await {
            Ok(never) => match never {},
            Err(reason) => reason,
        };
        let EventsOptions { info, session, live, .. } = &self.options;
        debug!(agent = %info.agent, %session, reason, "events channel ended");
        // A session that cannot report is none: the agent registers again.
        live.tasks().cancel();
        self.leave().await;
        Ok(())
    }

    /// Gives all accounts back, also those whose attach is still on its way.
    async fn leave(&mut self) {
        for account in self.holds.keys().cloned().collect::<Vec<_>>() {
            self.release(&account);
        }
        while let Some(done) = self.work.next().await {
            let Done::Attached(account, Ok(AttachOutcome::Attached { attachment, .. })) = done else {
                continue;
            };
            self.give_back(account, attachment.cursor.epoch);
        }
    }

    async fn serve(
        &mut self,
        mut up: impl Stream<Item = Result<v1::EventsUp, Status>> + Unpin,
    ) -> Result<Infallible, Ended> {
        let token = self.options.live.tasks().token();
        let down_tx = self.options.down_tx.clone();
        let mut renewal = tokio::time::interval(self.options.context.config.lease / 3);
        loop {
            tokio::select! {
                biased;
                () = token.cancelled() => return Err("the session ended".into()),
                () = down_tx.closed() => return Err("the agent is gone".into()),
                Some(done) = self.work.next() => self.finish(done).await?,
                _ = renewal.tick() => self.renew(),
                chunk = up.next() => {
                    let chunk = match chunk {
                        None => return Err("the agent closed it".into()),
                        Some(Err(status)) => return Err(format!("the link broke: {}", status.message())),
                        Some(Ok(chunk)) => chunk,
                    };
                    let message = self.options.assembler.push(chunk);
                    match message.and_then(|message| message.map(EventsUp::try_from).transpose()) {
                        Ok(None) => {}
                        Ok(Some(message)) => self.handle(message).await?,
                        Err(invalid) => self.misunderstood(&invalid).await?,
                    }
                }
            }
        }
    }

    /// Ends what a message that makes no sense was about: one account, or the channel.
    async fn misunderstood(&mut self, invalid: &InvalidMessage) -> Result<(), Ended> {
        let EventsOptions { context, info, .. } = &self.options;
        context.metrics.violations.inc();
        if let Some(account) = invalid.account() {
            warn!(%account, agent = %info.agent, %invalid, "account detached: batch not understood");
            return self.detach(account.clone(), invalid.to_string()).await;
        }
        // Which account it was about is unknown, so none of them can be trusted to be in step.
        warn!(agent = %info.agent, %invalid, "events channel closed: message not understood");
        self.fail(Status::invalid_argument(invalid.to_string())).await;
        Err(invalid.to_string())
    }

    async fn handle(&mut self, message: EventsUp) -> Result<(), Ended> {
        match message {
            EventsUp::Attach(account) => return self.attach(account).await,
            EventsUp::Batch(batch) => return self.batch(batch).await,
            EventsUp::Detach(account) => {
                info!(%account, agent = %self.options.info.agent, "account detached by its agent");
                self.attaching.remove(&account);
                self.release(&account);
            }
        }
        Ok(())
    }

    async fn finish(&mut self, done: Done) -> Result<(), Ended> {
        match done {
            Done::Attached(account, outcome) => self.attached(account, outcome).await,
            Done::Committed(outcome) => self.acknowledge(outcome).await,
            Done::Renewed(outcome) => self.renewed(outcome).await,
            Done::Nothing => Ok(()),
        }
    }

    async fn batch(&mut self, batch: Batch) -> Result<(), Ended> {
        let (account, cursor) = (batch.account.clone(), batch.cursor);
        if self.holds.get(&account).is_none_or(|hold| cursor.epoch < hold.epoch()) {
            // What was on its way when the attachment ended; the agent has been told.
            debug!(%account, epoch = %cursor.epoch, "a batch of an attachment that is over");
            self.options.context.metrics.batches_stale.inc();
            return Ok(());
        }
        match self.succession.judge(&batch) {
            Some(Judgement::Refused { reason, predecessor }) => {
                return self.refuse(account, reason, predecessor).await;
            }
            Some(Judgement::Taken { reason }) => self.report(&account, reason),
            None => {}
        }
        let metrics = &self.options.context.metrics;
        let Some(hold) = self.holds.get_mut(&account) else { return Ok(()) };
        match hold.fold(batch) {
            Ok((Folded { write, rejected, begun }, bytes)) => {
                for Rejected { object, reason } in &rejected {
                    warn!(%account, object, reason, "an object was not stored");
                }
                metrics.objects_rejected.inc_by(rejected.len() as u64);
                let done_rx = self.options.context.committer.submit(write);
                let committed = async move {
                    let result = done_rx.await.unwrap_or_else(|_| Err("the hub stops".into()));
                    Done::Committed(Outcome { account, cursor, bytes, rejected, begun, result })
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

    async fn acknowledge(&mut self, outcome: Outcome) -> Result<(), Ended> {
        let Outcome { account, cursor, bytes, mut rejected, begun, result } = outcome;
        let hold = self.holds.get_mut(&account).filter(|hold| hold.epoch() == cursor.epoch);
        let ours = hold.is_some();
        match result {
            Ok(committed) => {
                rejected.extend(committed.rejected);
                let credit_bytes = hold.and_then(|hold| hold.acknowledged(bytes));
                if self.options.fingerprints && ours {
                    for begun in begun {
                        self.tell(&account, cursor.epoch, begun);
                    }
                }
                self.send(EventsDown::Ack { account, cursor, rejected, credit_bytes }).await
            }
            // One refusal ends the attachment; those of the batches behind it say nothing new.
            Err(reason) if ours => {
                info!(%account, epoch = %cursor.epoch, reason, "attachment ended");
                self.detach(account, reason).await
            }
            Err(_) => Ok(()),
        }
    }

    pub(super) async fn send(&mut self, message: EventsDown) -> Result<(), Ended> {
        self.options.down_tx.send(Ok(message.into())).await.map_err(|_| "the agent is gone".to_owned())
    }

    async fn fail(&mut self, status: Status) {
        if self.options.down_tx.send(Err(status)).await.is_err() {
            debug!("the agent is gone");
        }
    }
}
