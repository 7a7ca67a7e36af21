//! The Events channel: accounts are attached, their batches committed and acknowledged.

use std::{collections::HashMap, pin::Pin, sync::Arc, time::Duration};

use futures::{Stream, StreamExt, stream::FuturesUnordered};
use spindrift_model::{AccountName, AgentId, Batch, Cursor, SessionId};
use spindrift_process::shutdown::BoxError;
use spindrift_protocol::{Assembler, EventsDown, EventsUp, Rejected, v1};
use tokio::sync::mpsc;
use tonic::Status;
use tracing::{debug, info, warn};

use super::{
    Context,
    sessions::Live,
    succession::{Judgement, Succession},
};
use crate::{
    cache::{Attachment, CommitResult},
    store::{AttachOutcome, AttachRequest, SessionInfo},
};

/// A standby asks again after this long; a holder that leaves is followed within it.
const STANDBY_RETRY: Duration = Duration::from_secs(2);

/// What a channel must be rid of: the agent has gone, or speaks nonsense.
type Ended = String;

pub(super) struct EventsChannel {
    pub(super) context: Arc<Context>,
    pub(super) session: SessionId,
    pub(super) info: SessionInfo,
    pub(super) live: Arc<Live>,
    pub(super) down_tx: mpsc::Sender<Result<v1::EventsDown, Status>>,
    pub(super) attachments: HashMap<AccountName, Attachment>,
    pub(super) succession: Succession,
    pub(super) commits: FuturesUnordered<Committing>,
}

/// A batch on its way to the store.
pub(super) type Committing = Pin<Box<dyn Future<Output = Outcome> + Send + Sync>>;

/// What became of a batch.
pub(super) struct Outcome {
    account: AccountName,
    cursor: Cursor,
    rejected: Vec<Rejected>,
    result: CommitResult,
}

// === impl EventsChannel ===

impl EventsChannel {
    /// Runs until the agent leaves or the session ends; then its accounts are free for others.
    pub(super) async fn run(
        mut self,
        up: impl Stream<Item = Result<v1::EventsUp, Status>> + Unpin,
    ) -> Result<(), BoxError> {
        let reason = match self.serve(up).await {
            Ok(never) => match never {},
            Err(reason) => reason,
        };
        debug!(agent = %self.info.agent, session = %self.session, reason, "events channel ended");
        for account in self.attachments.keys().cloned().collect::<Vec<_>>() {
            self.release(&account).await;
        }
        // A session that cannot report is none: the agent registers again.
        self.live.tasks().cancel();
        Ok(())
    }

    async fn serve(
        &mut self,
        mut up: impl Stream<Item = Result<v1::EventsUp, Status>> + Unpin,
    ) -> Result<std::convert::Infallible, Ended> {
        let token = self.live.tasks().token();
        let mut assembler = Assembler::default();
        let mut renewal = tokio::time::interval(self.context.config.lease / 3);
        loop {
            tokio::select! {
                biased;
                () = token.cancelled() => return Err("the session ended".into()),
                () = self.down_tx.closed() => return Err("the agent is gone".into()),
                Some(outcome) = self.commits.next() => self.acknowledge(outcome).await?,
                _ = renewal.tick() => self.renew().await?,
                chunk = up.next() => {
                    let chunk = match chunk {
                        None => return Err("the agent closed it".into()),
                        Some(Err(status)) => return Err(format!("the link broke: {}", status.message())),
                        Some(Ok(chunk)) => chunk,
                    };
                    let message = assembler.push(chunk).and_then(|message| message.map(EventsUp::try_from).transpose());
                    match message {
                        Ok(None) => {}
                        Ok(Some(message)) => self.handle(message).await?,
                        Err(invalid) => {
                            // Which account it was about is unknown, so none of them can be trusted to be in step.
                            self.context.metrics.violations.inc();
                            warn!(agent = %self.info.agent, %invalid, "events channel closed: message not understood");
                            self.fail(Status::invalid_argument(invalid.to_string())).await;
                            return Err(invalid.to_string());
                        }
                    }
                }
            }
        }
    }

    async fn handle(&mut self, message: EventsUp) -> Result<(), Ended> {
        match message {
            EventsUp::Attach(account) => self.attach(account).await,
            EventsUp::Batch(batch) => self.batch(batch).await,
            EventsUp::Detach(account) => {
                self.release(&account).await;
                Ok(())
            }
        }
    }

    async fn attach(&mut self, account: AccountName) -> Result<(), Ended> {
        if let Some(answer) = self.succession.stand_by(&account) {
            return self.send(answer).await;
        }
        let config = &self.context.config;
        let inheritance = self.succession.inheritance(&self.context.store, &account, &config.kinds).await;
        let inheritance = inheritance.unwrap_or_else(|error| {
            debug!(%account, %error, "what the account's agent before could read is not known");
            None
        });
        let request = AttachRequest {
            tenant: self.info.tenant.clone(),
            account: account.clone(),
            agent: self.info.agent.clone(),
            session: self.session.clone(),
            hub: config.hub.clone(),
            lease: config.lease,
        };
        let answer = match self.context.store.attach(&request).await {
            Ok(AttachOutcome::Attached(attachment)) => {
                info!(%account, agent = %self.info.agent, epoch = %attachment.cursor.epoch, seq = %attachment.cursor.seq,
                    resumable = attachment.resume_points.len(), "account attached");
                self.succession.attached(&account, inheritance);
                let hold =
                    Attachment::new(self.info.tenant.clone(), account.clone(), &attachment, config.lease);
                if self.attachments.insert(account.clone(), hold).is_none() {
                    self.context.metrics.attachments.inc();
                }
                EventsDown::Attached { account, attachment, credit_bytes: config.credit_bytes }
            }
            Ok(AttachOutcome::SessionClosed) => {
                return Err("a newer session of this agent has replaced this one".into());
            }
            Ok(AttachOutcome::Busy { agent, .. }) => {
                let reason = format!("agent {agent} caches this account");
                EventsDown::NotAttached { account, reason, retry_after: STANDBY_RETRY }
            }
            Err(error) => {
                warn!(%account, %error, "attach failed");
                let reason = "the hub's store did not answer".into();
                EventsDown::NotAttached { account, reason, retry_after: STANDBY_RETRY }
            }
        };
        self.send(answer).await
    }

    async fn batch(&mut self, batch: Batch) -> Result<(), Ended> {
        let Batch { account, cursor, .. } = &batch;
        let (account, cursor) = (account.clone(), *cursor);
        let Some(attachment) = self.attachments.get(&account) else {
            // What was on its way when the attachment ended; the agent has been told.
            debug!(%account, epoch = %cursor.epoch, "a batch of an attachment that is over");
            self.context.metrics.batches_stale.inc();
            return Ok(());
        };
        if cursor.epoch < attachment.epoch() {
            self.context.metrics.batches_stale.inc();
            return Ok(());
        }
        match self.succession.judge(&batch) {
            Some(Judgement::Refused { reason, predecessor }) => {
                return self.refuse(account, reason, &predecessor).await;
            }
            Some(Judgement::Taken { reason }) => self.report(&account, &reason).await,
            None => {}
        }
        let Some(attachment) = self.attachments.get_mut(&account) else { return Ok(()) };
        match attachment.fold(batch) {
            Ok((write, rejected)) => {
                for Rejected { object, reason } in &rejected {
                    warn!(%account, object, reason, "an object was not stored");
                }
                self.context.metrics.objects_rejected.inc_by(rejected.len() as u64);
                let done_rx = self.context.committer.submit(write).await;
                self.commits.push(Box::pin(async move {
                    let result = done_rx.await.unwrap_or_else(|_| Err("the hub stops".into()));
                    Outcome { account, cursor, rejected, result }
                }));
                Ok(())
            }
            Err(violation) => {
                self.context.metrics.violations.inc();
                warn!(%account, agent = %self.info.agent, %violation, "account detached");
                self.detach(account, violation.to_string()).await
            }
        }
    }

    /// Ends an attachment that would show less than the one before, and lets others go first.
    async fn refuse(
        &mut self,
        account: AccountName,
        reason: String,
        predecessor: &AgentId,
    ) -> Result<(), Ended> {
        self.report(&account, &reason).await;
        let Some(attachment) = self.attachments.remove(&account) else { return Ok(()) };
        self.context.metrics.attachments.dec();
        let epoch = attachment.epoch();
        let back = self.context.store.give_back(&self.info.tenant, &account, epoch, predecessor).await;
        if let Err(error) = back {
            debug!(%account, %error, "a lease was not given back; it will run out");
        }
        self.send(EventsDown::Detached { account, epoch, reason }).await
    }

    /// Says it where operators look.
    async fn report(&self, account: &AccountName, problem: &str) {
        warn!(%account, agent = %self.info.agent, problem, "an agent shows less of an account");
        let SessionInfo { tenant, agent, .. } = &self.info;
        if let Err(error) = self.context.store.report_problem(tenant, account, agent, problem).await {
            debug!(%account, %error, "a problem was not stored");
        }
    }

    async fn acknowledge(&mut self, outcome: Outcome) -> Result<(), Ended> {
        let Outcome { account, cursor, mut rejected, result } = outcome;
        let ours =
            self.attachments.get(&account).is_some_and(|attachment| attachment.epoch() == cursor.epoch);
        match result {
            Ok(committed) => {
                rejected.extend(committed.rejected);
                self.send(EventsDown::Ack { account, cursor, rejected }).await
            }
            // One refusal ends the attachment; those of the batches behind it say nothing new.
            Err(reason) if ours => {
                info!(%account, epoch = %cursor.epoch, reason, "attachment ended");
                self.detach(account, reason).await
            }
            Err(_) => Ok(()),
        }
    }

    async fn renew(&mut self) -> Result<(), Ended> {
        let held: Vec<_> =
            self.attachments.iter().map(|(account, hold)| (account.clone(), hold.epoch())).collect();
        if held.is_empty() {
            return Ok(());
        }
        match self.context.store.renew(&self.info.tenant, &held, self.context.config.lease).await {
            Ok(lost) => {
                for account in lost {
                    self.detach(account, "another attachment has taken over the account".into()).await?;
                }
            }
            Err(error) => warn!(%error, "leases were not renewed"),
        }
        Ok(())
    }

    /// Ends an attachment and tells the agent, which will attach again.
    async fn detach(&mut self, account: AccountName, reason: String) -> Result<(), Ended> {
        let Some(epoch) = self.release(&account).await else { return Ok(()) };
        self.send(EventsDown::Detached { account, epoch, reason }).await
    }

    /// Forgets an attachment and gives its lease back, if it is still ours.
    async fn release(&mut self, account: &AccountName) -> Option<spindrift_model::Epoch> {
        let epoch = self.attachments.remove(account)?.epoch();
        self.context.metrics.attachments.dec();
        if let Err(error) = self.context.store.release(&self.info.tenant, account, epoch).await {
            debug!(%account, %error, "a lease was not given back; it will run out");
        }
        Some(epoch)
    }

    async fn send(&self, message: EventsDown) -> Result<(), Ended> {
        self.down_tx.send(Ok(message.into())).await.map_err(|_| "the agent is gone".to_owned())
    }

    async fn fail(&self, status: Status) {
        if self.down_tx.send(Err(status)).await.is_err() {
            debug!("the agent is gone");
        }
    }
}
