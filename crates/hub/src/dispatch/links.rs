//! The agents whose Control channel ends at this hub.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use spindrift_model::{AgentId, OperationId, SessionId};
use spindrift_protocol::{CHUNK_BYTES, ControlDown, LARGEST_MESSAGE_BYTES, Request, v1};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::store::Seat;

/// The links of one hub.
#[derive(Debug)]
pub(crate) struct Links {
    live: Mutex<HashMap<SessionId, Arc<Link>>>,
    /// Moves when a link comes: who waits for an agent looks again.
    tick_tx: watch::Sender<u64>,
}

/// The way down to one agent, as long as its session lives.
#[derive(Debug)]
pub(crate) struct Link {
    session: SessionId,
    seat: Seat,
    /// Room for one part: parts of several operations take turns, and what else the hub has to say goes first.
    parts_tx: mpsc::Sender<Result<v1::ControlDown, Status>>,
    /// Room at the agent for requests of which not all parts have come.
    room: Semaphore,
    gone: CancellationToken,
}

/// Parts that may wait at the agent for the rest of their requests: half of what it puts together at once, beyond which
/// it would end the session.
const PARTS: usize = LARGEST_MESSAGE_BYTES / CHUNK_BYTES / 2;

/// How far a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// All of it is on its way.
    Whole,
    /// The link broke before the last part: the agent cannot have begun.
    NotWhole,
}

/// A link that is known until this is dropped.
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

    /// A Control channel was opened.
    pub(crate) fn join(self: &Arc<Self>, link: Link) -> Joined {
        let session = link.session.clone();
        self.live.lock().insert(session.clone(), Arc::new(link));
        self.tick_tx.send_modify(|tick| *tick += 1);
        Joined { links: Arc::clone(self), session }
    }

    pub(super) fn of_session(&self, session: &SessionId) -> Option<Arc<Link>> {
        self.live.lock().get(session).filter(|link| !link.gone.is_cancelled()).cloned()
    }

    /// The newest link of an agent.
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
        Self { session, seat, parts_tx, room: Semaphore::new(PARTS), gone }
    }

    pub(super) fn seat(&self) -> &Seat {
        &self.seat
    }

    /// Ends with the session.
    pub(super) async fn gone(&self) {
        self.gone.cancelled().await;
    }

    pub(super) async fn send(&self, request: Request) -> Sent {
        let parts = request.verb.len().div_ceil(CHUNK_BYTES);
        // What fits into one part waits for nothing.
        let _room = if parts > 1 {
            let parts = u32::try_from(parts.min(PARTS)).unwrap_or(1);
            self.gone.run_until_cancelled(self.room.acquire_many(parts)).await
        } else {
            None
        };
        for part in request.parts() {
            if !self.say(ControlDown::Operation(part)).await {
                return Sent::NotWhole;
            }
        }
        Sent::Whole
    }

    pub(super) async fn cancel(&self, operation: OperationId) {
        self.say(ControlDown::Cancel(operation)).await;
    }

    /// Whether the message was taken by the channel; whether it arrives is another question.
    async fn say(&self, message: ControlDown) -> bool {
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
