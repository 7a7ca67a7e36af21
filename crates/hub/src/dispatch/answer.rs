//! Answers: received, stored, and passed on.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use spindrift_model::{Content, Ending, ErrorKind, OperationError, OperationId, Outcome};
use spindrift_process::report;
use tokio::{
    sync::mpsc,
    time::{Instant, Interval, MissedTickBehavior, interval},
};
use tracing::warn;

use super::{
    Shared,
    delivery::{GRACE, POLL},
    running::{Event, OpenOperation},
    vault::SealedItem,
};
use crate::store::{AnswerPart, OperationRow, StoreError};

/// Longest answer of a change: it is held as a whole, and is an object or a list of names.
pub(super) const LARGEST_WHOLE: u64 = 32 * 1024 * 1024;

/// Longest answer that is stored; a caller that needs a longer one waits for it.
pub(super) const LARGEST_STORED: u64 = 64 * 1024 * 1024;

/// Pieces read from the store at a time: two mebibytes.
const PAGE: u32 = 32;

/// Answer as far as it has arrived.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) content: Content,
    /// Bytes received.
    pub(super) received: u64,
    /// Set if a reader has some of it.
    pub(super) passed: bool,
    /// All of it, for a change.
    pub(super) whole: Vec<Bytes>,
    /// Bytes in the store.
    pub(super) stored: u64,
    /// Set if some of it should be in the store and is not.
    pub(super) lost: bool,
}

/// A stored answer is encrypted with another key.
#[derive(Debug)]
pub(super) struct Unreadable;

/// Progress of passing a stored answer on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pumped {
    /// All that is stored so far.
    All,
    /// As far as its reader keeps up.
    TooFast,
    /// The store did not answer.
    NotNow,
}

/// Passes the stored answer of an operation on to another caller.
pub(super) struct Follower {
    shared: Arc<Shared>,
    entry: Arc<OpenOperation>,
    events_tx: mpsc::UnboundedSender<Event>,
    deadline: Instant,
}

// === impl Answer ===

impl Answer {
    /// Length of the stored answer, if there is one.
    pub(super) fn stored_bytes(&self, kept: bool) -> Option<u64> {
        (!self.lost && (kept || self.stored > 0)).then_some(self.stored)
    }
}

/// Stores the next piece.
pub(super) async fn store(
    shared: &Shared,
    id: OperationId,
    answer: &mut Answer,
    piece: &Bytes,
) -> anyhow::Result<()> {
    let offset = answer.stored;
    let sealed = shared.vault.seal(id, SealedItem::Answer(offset), piece)?;
    shared.store.append_part(&shared.config.tenant, id, &AnswerPart { offset, sealed }).await?;
    answer.stored += piece.len() as u64;
    Ok(())
}

/// Reads a page of a stored answer; empty at its end.
pub(super) async fn stored(shared: &Shared, id: OperationId, from: u64) -> Result<Vec<Bytes>, StoreError> {
    let parts = shared.store.parts(&shared.config.tenant, id, from, PAGE).await?;
    let mut pieces = Vec::with_capacity(parts.len());
    for AnswerPart { offset, sealed } in parts {
        let piece = shared.vault.open(id, SealedItem::Answer(offset), &sealed);
        pieces.push(piece.ok_or(StoreError::Sealed)?);
    }
    Ok(pieces)
}

/// Passes on the pieces that another hub, or the delivery of another caller, has stored since the last time, as far as the reader keeps
/// up.
pub(super) async fn pump(
    shared: &Shared,
    row: &OperationRow,
    entry: &OpenOperation,
    answer: &mut Answer,
    events_tx: &mpsc::UnboundedSender<Event>,
) -> Result<Pumped, Unreadable> {
    loop {
        if answer.received >= entry.granted() && !events_tx.is_closed() {
            return Ok(Pumped::TooFast);
        }
        let pieces = match stored(shared, row.id, answer.received).await {
            Ok(pieces) => pieces,
            Err(StoreError::Sealed) => return Err(Unreadable),
            Err(error) => {
                warn!(operation = %row.id, error = %report(&error), "an answer could not be read");
                return Ok(Pumped::NotNow);
            }
        };
        if pieces.is_empty() {
            return Ok(Pumped::All);
        }
        for piece in pieces {
            answer.received += piece.len() as u64;
            answer.passed = true;
            events_tx.send(Event::Piece(row.content, piece)).ok();
        }
    }
}

// === impl Follower ===

impl Follower {
    pub(super) fn new(
        shared: Arc<Shared>,
        entry: Arc<OpenOperation>,
        events_tx: mpsc::UnboundedSender<Event>,
        deadline: Instant,
    ) -> Self {
        Self { shared, entry, events_tx, deadline }
    }

    pub(super) async fn run(self) -> Result<(), Infallible> {
        let token = self.shared.tasks.token();
        let last = tokio::select! {
            biased;
            () = token.cancelled() => return Ok(()),
            () = self.events_tx.closed() => return Ok(()),
            last = self.follow() => last,
        };
        self.events_tx.send(last).ok();
        Ok(())
    }

    async fn follow(&self) -> Event {
        let tenant = &self.shared.config.tenant;
        let mut poll = interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while Instant::now() < self.deadline + 3 * GRACE {
            poll.tick().await;
            let Ok(Some(row)) = self.shared.store.operation(tenant, self.entry.id).await else { continue };
            // A partial answer may still be restarted: it is passed on when it is complete.
            if let Some(ending) = row.ending() {
                return self.repeat(&row, ending, poll).await;
            }
        }
        let error = OperationError::hub(ErrorKind::Timeout, "the operation has not ended yet");
        Event::Ended(Content::Json, Ending::without_agent(error.into()))
    }

    /// Passes on the whole answer of an operation that has ended, as fast as its caller takes it.
    async fn repeat(&self, row: &OperationRow, ending: Ending, mut poll: Interval) -> Event {
        if row.answer_bytes.is_none() && matches!(ending.outcome, Outcome::Succeeded { .. }) {
            return Event::Forgotten(ending);
        }
        let mut answer = Answer::default();
        loop {
            match pump(&self.shared, row, &self.entry, &mut answer, &self.events_tx).await {
                Ok(Pumped::All) => return Event::Ended(row.content, ending),
                Ok(Pumped::TooFast | Pumped::NotNow) => _ = poll.tick().await,
                Err(Unreadable) => return Event::Forgotten(ending),
            }
        }
    }
}
