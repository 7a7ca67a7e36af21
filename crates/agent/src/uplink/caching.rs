//! One account of a session: attached, watched, its items sent in batches, again and again.

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
    channels::EventsSender,
    flow::{Credited, Hold, Outlet, OutletOptions, Place},
};
use crate::{accounts::Account, metrics::Metrics, status::Board, watch::Engine};

/// An attachment that ends is taken up again at this pace.
const REATTACH: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(100),
    multiplier: 2.0,
    jitter: 0.3,
    max: Duration::from_secs(30),
};

/// Unacknowledged batches of an account: one that the hub commits, one on its way. What comes meanwhile goes together in
/// the next, so that a lone event goes at once and a flood in few transactions.
const BATCHES_IN_FLIGHT: usize = 2;

/// An account in a session; ends with it.
pub(super) struct CachingAccount {
    pub(super) account: Arc<Account>,
    pub(super) kinds: CacheKinds,
    pub(super) batch_bytes: usize,
    pub(super) up_tx: EventsSender,
    pub(super) down_rx: mpsc::UnboundedReceiver<EventsDown>,
    pub(super) board: Board,
    pub(super) metrics: Arc<Metrics>,
    /// Cancelled when the account is no longer to be cached, though the session lives.
    pub(super) stop: CancellationToken,
}

/// Batches that are sent and not acknowledged, with the credit they hold.
struct InFlight {
    next: Cursor,
    sent: VecDeque<(Seq, Vec<Hold>)>,
}

/// A batch in the making, with all that its items hold.
#[derive(Default)]
struct Filled {
    items: Vec<Item>,
    credits: Vec<Hold>,
    places: Vec<Place>,
}

/// The session is over; the task is about to be dropped.
struct SessionOver;

/// Why an account is no longer cached.
enum Ended {
    SessionOver,
    Stopped,
}

// === impl CachingAccount ===

impl CachingAccount {
    /// Attaches and caches, for as long as the session lives or until it is stopped.
    pub(super) async fn run(mut self) {
        let name = self.account.description.name.clone();
        let ended = self.attach_until_stopped().await;
        if matches!(ended, Ended::SessionOver) || self.send(EventsUp::Detach(name)).await.is_err() {
            // The session drops this task when it ends, so there is nothing to say when it does.
            std::future::pending::<()>().await;
        }
    }

    /// Stops only where no answer to an attach is awaited: whoever comes after must not take it for their own.
    async fn attach_until_stopped(&mut self) -> Ended {
        let mut backoff = Backoff::new(REATTACH);
        let stop = self.stop.clone();
        while !stop.is_cancelled() {
            let name = self.account.description.name.clone();
            let Ok(()) = self.send(EventsUp::Attach(name.clone())).await else { return Ended::SessionOver };
            match self.answer().await {
                Ok(Ok((attachment, credit_bytes))) => {
                    let started = Instant::now();
                    info!(account = %name, epoch = %attachment.cursor.epoch, resumable = attachment.resume_points.len(), "account attached");
                    let Some(ended) = stop.run_until_cancelled(self.cache(attachment, credit_bytes)).await
                    else {
                        break;
                    };
                    let Ok(reason) = ended else { return Ended::SessionOver };
                    info!(account = %name, reason, "account detached");
                    self.board.problem(&name, format!("detached: {reason}"));
                    self.board.not_caching(&name);
                    backoff.ended_after(started.elapsed());
                    stop.run_until_cancelled(sleep(backoff.next())).await;
                }
                Ok(Err(retry_after)) => {
                    stop.run_until_cancelled(sleep(retry_after)).await;
                }
                Err(SessionOver) => return Ended::SessionOver,
            }
        }
        Ended::Stopped
    }

    /// Waits for the answer to an attach; what belongs to an attachment that is over is passed by.
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
                EventsDown::Ack { .. } | EventsDown::Detached { .. } | EventsDown::Fingerprints { .. } => {}
            }
        }
    }

    /// Watches and sends until the hub ends the attachment; gives the reason.
    async fn cache(&mut self, attachment: Attachment, credit_bytes: u32) -> Result<String, SessionOver> {
        let Attachment { cursor, resume_points } = attachment;
        let (outlet, mut items_rx) = Outlet::new(OutletOptions {
            credit_bytes,
            fingerprints: self.up_tx.fingerprints,
            room: self.up_tx.room.clone(),
            metrics: self.metrics.clone(),
        });
        let engine = Engine::new(
            self.account.clone(),
            self.kinds.clone(),
            resume_points,
            outlet.clone(),
            self.board.clone(),
            self.metrics.clone(),
        );
        let mut engine = std::pin::pin!(engine.run());
        let mut in_flight = InFlight { next: cursor, sent: VecDeque::new() };
        loop {
            tokio::select! {
                biased;
                down = self.down_rx.recv() => match down.ok_or(SessionOver)? {
                    EventsDown::Ack { cursor, rejected, credit_bytes, .. } => {
                        in_flight.acknowledged(cursor);
                        self.show_rejected(rejected);
                        if let Some(bytes) = credit_bytes {
                            outlet.set_credit(bytes);
                        }
                    }
                    EventsDown::Fingerprints { epoch, known, .. } if epoch == cursor.epoch => outlet.tell(known),
                    EventsDown::Detached { epoch, reason, .. } if epoch == cursor.epoch => return Ok(reason),
                    _ => {}
                },
                Some(first) = items_rx.recv(), if in_flight.sent.len() < BATCHES_IN_FLIGHT => {
                    let Filled { items, credits, places } = self.fill(first, &mut items_rx);
                    let batch = in_flight.batch(self.account.description.name.clone(), items, credits);
                    self.send(EventsUp::Batch(batch)).await?;
                    drop(places);
                }
                () = &mut engine => {}
            }
        }
    }

    /// Takes what is there, up to the size of a batch: a lone event goes at once, a flood goes in bulk.
    fn fill(&self, first: Credited, items_rx: &mut mpsc::UnboundedReceiver<Credited>) -> Filled {
        let mut filled = Filled::default();
        let mut bytes = 0;
        let mut next = Some(first);
        while let Some(credited) = next {
            bytes += credited.bytes;
            if let Item::Mention { uids, .. } = &credited.item {
                self.metrics.mentioned_objects.inc_by(uids.len() as u64);
            }
            filled.push(credited);
            next = if bytes < self.batch_bytes { items_rx.try_recv().ok() } else { None };
        }
        filled
    }

    fn show_rejected(&self, rejected: Vec<Rejected>) {
        let account = &self.account.description.name;
        self.metrics.rejected_objects.inc_by(rejected.len() as u64);
        if !rejected.is_empty() {
            self.board.rejected(account, rejected.len());
        }
        for Rejected { object, reason } in rejected {
            warn!(%account, object, reason, "the hub would not store an object");
            self.board.problem(account, format!("the hub would not store {object}: {reason}"));
        }
    }

    async fn send(&self, message: EventsUp) -> Result<(), SessionOver> {
        self.up_tx.messages_tx.send(message.into()).await.map_err(|_| SessionOver)
    }
}

// === impl Filled ===

impl Filled {
    /// Mentions of one scope that follow each other are one item.
    fn push(&mut self, credited: Credited) {
        let Credited { item, bytes: _, credit, place } = credited;
        self.credits.push(credit);
        self.places.push(place);
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
    fn batch(&mut self, account: AccountName, items: Vec<Item>, credits: Vec<Hold>) -> Batch {
        let cursor = self.next;
        self.next.seq = self.next.seq.next();
        self.sent.push_back((cursor.seq, credits));
        Batch { account, cursor, items }
    }

    /// Gives back the credit of this batch and of all before it.
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
    use crate::uplink::{Credit, Meter};

    const SCOPE: ScopeId = ScopeId(1);

    fn mention(uid: &str) -> Item {
        Item::Mention { scope: SCOPE, uids: vec![uid.into()] }
    }

    #[tokio::test]
    async fn the_hub_counts_for_a_batch_what_its_items_took_of_the_credit() {
        let metrics = Arc::new(Metrics::register(&mut Registry::default(), Board::default()));
        let room = Credit::new(usize::MAX, Meter::default());
        let options =
            OutletOptions { credit_bytes: 100_000, fingerprints: false, room, metrics: metrics.clone() };
        let (outlet, mut items_rx) = Outlet::new(options);
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
            outlet.send(item).await;
        }
        let mut filled = Filled::default();
        while let Ok(credited) = items_rx.try_recv() {
            filled.push(credited);
        }
        assert_eq!(filled.items.len(), 6, "mentions are merged");

        let cursor = Cursor { epoch: spindrift_model::Epoch(1), seq: Seq(1) };
        let account = AccountName::parse("prod").unwrap();
        let batch = EventsUp::Batch(Batch { account, cursor, items: filled.items });
        let EventsUp::Batch(received) = EventsUp::try_from(v1::EventsMessage::from(batch)).unwrap() else {
            panic!("a batch")
        };
        let counted: usize = received.items.iter().map(flow::cost).sum();
        assert_eq!(i64::try_from(counted).unwrap(), metrics.lag.bytes.get());
    }
}
