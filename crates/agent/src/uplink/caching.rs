//! One account of a session: attached, its items sent in batches, re-attached when the attachment ends.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use spindrift_model::{AccountName, Attachment, Batch, CacheKinds, Cursor, Item, Seq};
use spindrift_process::backoff::{Backoff, BackoffConfig};
use spindrift_protocol::{EventsDown, EventsUp, Rejected};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{
    AttachedAccount,
    attached::{AttachedWatches, WantedObjects},
    channels::EventsSender,
    flow::{CreditHold, CreditedItem, FlowControl, FlowOptions, SendReservation},
};
use crate::{accounts::Account, metrics::Metrics, status::AgentStatus};

/// Backoff between the end of an attachment and the next attach.
const REATTACH: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(100),
    multiplier: 2.0,
    jitter: 0.3,
    max: Duration::from_secs(30),
};

/// Least pause between two attaches of a standby, whatever the hub asks for: a pause of nothing would be a busy loop.
const SHORTEST_STANDBY: Duration = Duration::from_millis(100);

/// Longest pause between two attaches of a standby: a hub cannot keep an agent away for longer.
const LONGEST_STANDBY: Duration = Duration::from_mins(5);

/// Unacknowledged batches of an account: one that the hub commits, one on its way. Items that come meanwhile go together
/// in the next, so that a lone event goes at once and a flood in few transactions.
const BATCHES_IN_FLIGHT: usize = 2;

/// An account in a session; ends with it.
pub(super) struct CachingAccount {
    pub(super) account: Arc<Account>,
    pub(super) kinds: CacheKinds,
    /// Set if the hub wants only objects that Spinnaker deployed.
    pub(super) only_managed: bool,
    pub(super) batch_bytes: usize,
    /// Receives the account whenever it is attached, to watch it.
    pub(super) attached_tx: mpsc::Sender<AttachedAccount>,
    pub(super) up_tx: EventsSender,
    pub(super) down_rx: mpsc::UnboundedReceiver<EventsDown>,
    pub(super) status: AgentStatus,
    pub(super) metrics: Arc<Metrics>,
    /// Cancelled when the account is no longer to be cached, though the session continues.
    pub(super) stop: CancellationToken,
}

/// Batches that are sent and not acknowledged, with the credit they hold.
struct InFlight {
    next: Cursor,
    sent: VecDeque<(Seq, Vec<CreditHold>)>,
}

/// A batch in the making, with the credit and the send budget that its items hold.
#[derive(Default)]
struct PendingBatch {
    items: Vec<Item>,
    credits: Vec<CreditHold>,
    reservations: Vec<SendReservation>,
}

/// The session has ended; the task is about to be dropped.
struct SessionOver;

/// Reason for which an account is no longer cached.
enum CachingEnd {
    SessionOver,
    Stopped,
}

/// Reason for which an attachment ended while the session continues.
enum AttachmentEnd {
    /// The hub ended it, for this reason.
    Detached(String),
    /// The watches stopped by themselves.
    WatchesStopped,
}

// === impl CachingAccount ===

impl CachingAccount {
    /// Attaches and caches until the session ends or the account is stopped.
    pub(super) async fn run(mut self) {
        let name = self.account.description.name.clone();
        let ended = self.attach_until_stopped().await;
        if matches!(ended, CachingEnd::SessionOver) || self.send(EventsUp::Detach(name)).await.is_err() {
            // The session drops this task when it ends, and does not wait for an event.
            std::future::pending::<()>().await;
        }
    }

    /// Stops only where no answer to an attach is awaited: a later attach must not take it for its own.
    async fn attach_until_stopped(&mut self) -> CachingEnd {
        let mut backoff = Backoff::new(REATTACH);
        let stop = self.stop.clone();
        while !stop.is_cancelled() {
            let name = self.account.description.name.clone();
            let Ok(()) = self.send(EventsUp::Attach(name.clone())).await else {
                return CachingEnd::SessionOver;
            };
            match self.answer().await {
                Ok(Ok((attachment, credit_bytes))) => {
                    let started = Instant::now();
                    info!(account = %name, epoch = %attachment.cursor.epoch,
                        resumable = attachment.resume_points.len(), "account attached");
                    let reason = match self.cache(attachment, credit_bytes).await {
                        Ok(Some(AttachmentEnd::Detached(reason))) => reason,
                        Ok(Some(AttachmentEnd::WatchesStopped)) => {
                            let Ok(()) = self.send(EventsUp::Detach(name.clone())).await else {
                                return CachingEnd::SessionOver;
                            };
                            "internal error: the watch engine panicked".into()
                        }
                        Ok(None) => break,
                        Err(SessionOver) => return CachingEnd::SessionOver,
                    };
                    info!(account = %name, reason, "account detached");
                    self.status.problem(&name, format!("detached: {reason}"));
                    self.status.not_caching(&name);
                    backoff.ended_after(started.elapsed());
                    stop.run_until_cancelled(sleep(backoff.next())).await;
                }
                Ok(Err(retry_after)) => {
                    stop.run_until_cancelled(sleep(standby_pause(retry_after))).await;
                }
                Err(SessionOver) => return CachingEnd::SessionOver,
            }
        }
        CachingEnd::Stopped
    }

    /// Waits for the answer to an attach; skips messages of an attachment that has ended.
    async fn answer(&mut self) -> Result<Result<(Attachment, u32), Duration>, SessionOver> {
        loop {
            match self.down_rx.recv().await.ok_or(SessionOver)? {
                EventsDown::Attached { attachment, credit_bytes, .. } => {
                    return Ok(Ok((attachment, credit_bytes)));
                }
                EventsDown::NotAttached { account, reason, retry_after } => {
                    debug!(%account, reason, "standing by");
                    return Ok(Err(retry_after));
                }
                EventsDown::Ack { .. }
                | EventsDown::Detached { .. }
                | EventsDown::Fingerprints { .. }
                | EventsDown::Heartbeat => {}
            }
        }
    }

    /// Has the account watched and sends its items until the attachment ends; returns none if the account was stopped.
    async fn cache(
        &mut self,
        attachment: Attachment,
        credit_bytes: u32,
    ) -> Result<Option<AttachmentEnd>, SessionOver> {
        let Attachment { cursor, resume_points } = attachment;
        let (flow, items_rx) = FlowControl::new(FlowOptions {
            credit_bytes,
            fingerprints: self.up_tx.fingerprints,
            send_budget: self.up_tx.send_budget.clone(),
            metrics: self.metrics.clone(),
        });
        let wanted = WantedObjects { kinds: self.kinds.clone(), only_managed: self.only_managed };
        let (attached, watches) =
            AttachedAccount::new(self.account.clone(), wanted, resume_points, flow.clone());
        // Without a receiver the agent is stopping, which also ends the session.
        self.attached_tx.send(attached).await.map_err(|_| SessionOver)?;
        let stop = self.stop.clone();
        let ended = stop.run_until_cancelled(self.exchange(cursor, &flow, items_rx, &watches)).await;
        watches.stop().await;
        ended.transpose()
    }

    /// Sends the items of the watches and handles the hub's answers until the attachment ends.
    async fn exchange(
        &mut self,
        cursor: Cursor,
        flow: &FlowControl,
        mut items_rx: mpsc::UnboundedReceiver<CreditedItem>,
        watches: &AttachedWatches,
    ) -> Result<AttachmentEnd, SessionOver> {
        let mut in_flight = InFlight { next: cursor, sent: VecDeque::new() };
        loop {
            tokio::select! {
                biased;
                down = self.down_rx.recv() => match down.ok_or(SessionOver)? {
                    EventsDown::Ack { cursor, rejected, credit_bytes, .. } => {
                        in_flight.acknowledged(cursor);
                        self.show_rejected(rejected);
                        if let Some(bytes) = credit_bytes {
                            flow.set_credit(bytes);
                        }
                    }
                    EventsDown::Fingerprints { epoch, known, .. } if epoch == cursor.epoch => {
                        flow.add_known(known);
                    }
                    EventsDown::Detached { epoch, reason, .. } if epoch == cursor.epoch => {
                        return Ok(AttachmentEnd::Detached(reason));
                    }
                    _ => {}
                },
                Some(first) = items_rx.recv(), if in_flight.sent.len() < BATCHES_IN_FLIGHT => {
                    let PendingBatch { items, credits, reservations } = self.fill(first, &mut items_rx);
                    let batch = in_flight.batch(self.account.description.name.clone(), items, credits);
                    self.send(EventsUp::Batch(batch)).await?;
                    drop(reservations);
                }
                () = watches.stopped() => return Ok(AttachmentEnd::WatchesStopped),
            }
        }
    }

    /// Takes the items that are queued, up to the size of a batch: a lone event goes at once, a flood goes in bulk.
    fn fill(
        &self,
        first: CreditedItem,
        items_rx: &mut mpsc::UnboundedReceiver<CreditedItem>,
    ) -> PendingBatch {
        let mut pending = PendingBatch::default();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(credited) = next {
            bytes += credited.bytes;
            if let Item::Mention { uids, .. } = &credited.item {
                self.metrics.mentioned_objects.inc_by(uids.len() as u64);
            }
            pending.push(credited);
            next = if bytes < self.batch_bytes { items_rx.try_recv().ok() } else { None };
        }
        pending
    }

    fn show_rejected(&self, rejected: Vec<Rejected>) {
        let account = &self.account.description.name;
        self.metrics.rejected_objects.inc_by(rejected.len() as u64);
        if !rejected.is_empty() {
            self.status.rejected(account, rejected.len());
        }
        for Rejected { object, reason } in rejected {
            warn!(%account, object, reason, "the hub rejected an object");
            self.status.problem(account, format!("the hub rejected {object}: {reason}"));
        }
    }

    async fn send(&self, message: EventsUp) -> Result<(), SessionOver> {
        self.up_tx.messages_tx.send(message.into()).await.map_err(|_| SessionOver)
    }
}

/// Returns the pause of a standby, within limits that a hub cannot change.
fn standby_pause(asked: Duration) -> Duration {
    asked.clamp(SHORTEST_STANDBY, LONGEST_STANDBY)
}

// === impl PendingBatch ===

impl PendingBatch {
    /// Adds an item. Consecutive mentions of one scope are merged into one.
    fn push(&mut self, credited: CreditedItem) {
        let CreditedItem { item, bytes: _, credit, reservation } = credited;
        self.credits.push(credit);
        self.reservations.push(reservation);
        match (self.items.last_mut(), item) {
            (Some(Item::Mention { scope, uids }), Item::Mention { scope: same, uids: more })
                if *scope == same =>
            {
                uids.extend(more);
            }
            (_, item) => self.items.push(item),
        }
    }
}

// === impl InFlight ===

impl InFlight {
    fn batch(&mut self, account: AccountName, items: Vec<Item>, credits: Vec<CreditHold>) -> Batch {
        let cursor = self.next;
        self.next.seq = self.next.seq.next();
        self.sent.push_back((cursor.seq, credits));
        Batch { account, cursor, items }
    }

    /// Frees the credit of this batch and of all before it.
    fn acknowledged(&mut self, cursor: Cursor) {
        if cursor.epoch != self.next.epoch {
            return;
        }
        while self.sent.front().is_some_and(|(seq, _)| *seq <= cursor.seq) {
            self.sent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::registry::Registry;
    use spindrift_model::{Declaration, Generation, ScopeId, Upsert};
    use spindrift_protocol::{flow, v1};

    use super::*;
    use crate::uplink::{Credit, UsageGauges};

    const SCOPE: ScopeId = ScopeId(1);

    fn mention(uid: &str) -> Item {
        Item::Mention { scope: SCOPE, uids: vec![uid.into()] }
    }

    #[test]
    fn a_hub_can_neither_hurry_a_standby_nor_keep_it_away() {
        assert_eq!(standby_pause(Duration::ZERO), SHORTEST_STANDBY);
        assert_eq!(standby_pause(Duration::from_secs(2)), Duration::from_secs(2));
        assert_eq!(standby_pause(Duration::from_millis(u32::MAX.into())), LONGEST_STANDBY);
    }

    #[tokio::test]
    async fn the_hub_counts_for_a_batch_what_its_items_took_of_the_credit() {
        let metrics = Arc::new(Metrics::register(&mut Registry::default(), AgentStatus::default()));
        let send_budget = Credit::new(usize::MAX, UsageGauges::default());
        let options =
            FlowOptions { credit_bytes: 100_000, fingerprints: false, send_budget, metrics: metrics.clone() };
        let (flow, mut items_rx) = FlowControl::new(options);
        let (namespace, name, uid) = ("n".into(), "a".into(), "u".into());
        let body = "{\"kind\":\"Pod\"}".into();
        for item in [
            Item::Declare(Declaration::default()),
            Item::Begin { scope: SCOPE, generation: Generation(1) },
            mention("first"),
            mention("the second"),
            Item::Upsert(Upsert { scope: SCOPE, namespace, name, uid, resource_version: "1".into(), body }),
            mention("third"),
            Item::End { scope: SCOPE, generation: Generation(1), resource_version: "1".into() },
        ] {
            flow.send(item).await;
        }
        let mut pending = PendingBatch::default();
        while let Ok(credited) = items_rx.try_recv() {
            pending.push(credited);
        }
        assert_eq!(pending.items.len(), 6, "mentions are merged");

        let cursor = Cursor { epoch: spindrift_model::Epoch(1), seq: Seq(1) };
        let account = AccountName::parse("prod").unwrap();
        let batch = EventsUp::Batch(Batch { account, cursor, items: pending.items });
        let EventsUp::Batch(received) = EventsUp::try_from(v1::EventsMessage::from(batch)).unwrap() else {
            panic!("a batch")
        };
        let counted: usize = received.items.iter().map(flow::cost).sum();
        assert_eq!(i64::try_from(counted).unwrap(), metrics.lag.bytes.get());
    }
}
