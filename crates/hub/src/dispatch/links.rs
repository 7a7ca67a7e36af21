//! Agents whose Control channel ends at this hub.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use spindrift_model::{AgentId, OperationId, SessionId};
use spindrift_protocol::{CHUNK_BYTES, ControlDown, EncodedOperation, LARGEST_MESSAGE_BYTES, v1};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::store::Seat;

/// Links of one hub.
#[derive(Debug)]
pub(crate) struct Links {
    live: Mutex<HashMap<SessionId, Arc<Link>>>,
    /// Changes when a link is added: deliveries that wait for an agent look again.
    tick_tx: watch::Sender<u64>,
}

/// Control channel to one agent, for the time of its session.
#[derive(Debug)]
pub(crate) struct Link {
    session: SessionId,
    seat: Seat,
    /// Capacity of one part: parts of several operations are interleaved, and other messages of the hub go first.
    parts_tx: mpsc::Sender<Result<v1::ControlDown, Status>>,
    /// Limit of the parts at the agent whose operations are not complete.
    partial: Semaphore,
    gone: CancellationToken,
}

/// Parts that may wait at the agent for the rest of their operations: half of its limit, beyond which it
/// would end the session.
const PARTS: usize = LARGEST_MESSAGE_BYTES / CHUNK_BYTES / 2;

/// Result of sending an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// All parts were sent.
    Whole,
    /// The link broke before the last part: the agent cannot have begun it.
    NotWhole,
}

/// Registration of a link, until it is dropped.
#[derive(Debug)]
pub(crate) struct Joined {
    links: Arc<Links>,
    session: SessionId,
}

// === impl Links ===

impl Links {
    pub(super) fn new() -> Self {
        Self { live: Mutex::default(), tick_tx: watch::Sender::new(0) }
    }

    /// Adds the link of a new Control channel.
    pub(crate) fn join(self: &Arc<Self>, link: Link) -> Joined {
        let session = link.session.clone();
        self.live.lock().insert(session.clone(), Arc::new(link));
        self.tick_tx.send_modify(|tick| *tick += 1);
        Joined { links: Arc::clone(self), session }
    }

    pub(super) fn of_session(&self, session: &SessionId) -> Option<Arc<Link>> {
        self.live.lock().get(session).filter(|link| !link.gone.is_cancelled()).cloned()
    }

    /// Newest link of an agent.
    pub(super) fn of_agent(&self, agent: &AgentId) -> Option<Arc<Link>> {
        let live = self.live.lock();
        let links = live.values().filter(|link| link.seat.agent == *agent && !link.gone.is_cancelled());
        // Session ids sort by the time they were made.
        links.max_by(|one, other| one.session.cmp(&other.session)).cloned()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.tick_tx.subscribe()
    }
}

// === impl Link ===

impl Link {
    pub(crate) fn new(
        session: SessionId,
        seat: Seat,
        parts_tx: mpsc::Sender<Result<v1::ControlDown, Status>>,
        gone: CancellationToken,
    ) -> Self {
        Self { session, seat, parts_tx, partial: Semaphore::new(PARTS), gone }
    }

    pub(super) fn seat(&self) -> &Seat {
        &self.seat
    }

    /// Returns when the session ends.
    pub(super) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    pub(super) async fn send(&self, operation: EncodedOperation) -> Sent {
        let parts = operation.verb.len().div_ceil(CHUNK_BYTES);
        // An operation of one part does not wait.
        let _permits = if parts > 1 {
            let parts = u32::try_from(parts.min(PARTS)).unwrap_or(1);
            self.gone.run_until_cancelled(self.partial.acquire_many(parts)).await
        } else {
            None
        };
        for part in operation.parts() {
            if !self.push(ControlDown::Operation(part)).await {
                return Sent::NotWhole;
            }
        }
        Sent::Whole
    }

    pub(super) async fn cancel(&self, operation: OperationId) {
        self.push(ControlDown::Cancel(operation)).await;
    }

    /// Returns whether the channel took the message; it may still be lost.
    async fn push(&self, message: ControlDown) -> bool {
        tokio::select! {
            biased;
            () = self.gone.cancelled() => false,
            sent = self.parts_tx.send(Ok(message.into())) => sent.is_ok(),
        }
    }
}

// === impl Joined ===

impl Drop for Joined {
    fn drop(&mut self) {
        self.links.live.lock().remove(&self.session);
    }
}
