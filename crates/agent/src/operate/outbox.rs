//! Answers on their way to the hub: each as far as its credit goes, taking turns, until the hub has it.
//!
//! ```text
//! verb ─▶ letter (of a mutation: kept whole until the hub says done; of a read: gone as it is sent) ─▶ turns ─▶ Results
//! ```
//!
//! It outlives sessions. A new one begins every kept letter anew; what is read is cut off with the session that asked. What
//! was sent often enough rests, within a bound of bytes and of time, until its id comes again or the next session begins.

mod letter;
mod past;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use spindrift_model::{Content, Ending, OperationId};
use spindrift_protocol::{ResultPart, ResultsDown};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use self::{
    letter::{Keeping, Letter},
    past::Past,
};
use super::{AnswerSink, Gone};
use crate::config::ResponseRetries;

/// What all answers of mutations together may hold until the hub has them: beyond it, the oldest keep their outcome and
/// lose their body.
const KEPT_BYTES: usize = 8 * 1024 * 1024;

/// How long an answer rests that the hub did not take, in case it is asked for: longer than hubs and databases are away,
/// mostly.
const LONGEST_REST: Duration = Duration::from_mins(10);

/// A result that took longer than this to be sent is worth a word.
const SLOW: Duration = Duration::from_secs(5);

/// All answers that are being written or sent.
#[derive(Debug)]
pub struct Outbox {
    retries: ResponseRetries,
    state: Mutex<State>,
    /// Told when there may be something to send.
    stirred: Notify,
    /// Told when the hub has an answer.
    delivered: Notify,
}

#[derive(Debug, Default)]
struct State {
    letters: HashMap<OperationId, Letter>,
    /// Whose turn it is; nobody twice.
    turns: VecDeque<OperationId>,
    past: Past,
    /// How many letters were opened.
    opened: u64,
}

/// Where one operation writes its answer.
#[derive(Debug)]
pub(super) struct Letterbox {
    outbox: Arc<Outbox>,
    operation: OperationId,
    /// Which letter: a read that was cut off may be asked for again under its id before it has noticed.
    serial: u64,
}

// === impl Outbox ===

impl Outbox {
    /// Without any letter yet.
    pub fn new(retries: ResponseRetries) -> Self {
        Self { retries, state: Mutex::default(), stirred: Notify::new(), delivered: Notify::new() }
    }

    /// Opens the answer of an operation; none if its id is known: then what is known of it is told again.
    pub(super) fn open(
        self: &Arc<Self>,
        operation: OperationId,
        is_mutation: bool,
        cancelled: &CancellationToken,
    ) -> Option<Letterbox> {
        let mut state = self.state.lock();
        if let Some(letter) = state.letters.get_mut(&operation) {
            debug!(operationId = %operation, "the operation is known already");
            if letter.keeping == Keeping::Whole {
                letter.begin_anew();
                self.stir(&mut state, operation);
            }
            return None;
        }
        let keeping = if is_mutation { Keeping::Whole } else { Keeping::Passing };
        state.opened += 1;
        let serial = state.opened;
        let mut letter = Letter::new(serial, keeping, cancelled.clone());
        if let Some(outcome) = state.past.of(operation) {
            debug!(operationId = %operation, "the operation was done before");
            letter.ending = Some(Ending { outcome, took: Duration::ZERO });
            state.letters.insert(operation, letter);
            self.stir(&mut state, operation);
            return None;
        }
        state.letters.insert(operation, letter);
        Some(Letterbox { outbox: self.clone(), operation, serial })
    }

    /// Calls an operation off, if it is not done yet.
    pub(super) fn cancel(&self, operation: OperationId) {
        if let Some(letter) = self.state.lock().letters.get(&operation) {
            letter.cancelled.cancel();
        }
    }

    /// How many answers are being written or sent.
    pub(super) fn len(&self) -> usize {
        self.state.lock().letters.values().filter(|letter| !letter.resting).count()
    }

    /// A session begins: what is kept is told to it from the start.
    pub fn begin_session(&self) {
        let mut state = self.state.lock();
        state.turns.clear();
        let kept: Vec<_> = state.letters.keys().copied().collect();
        for operation in kept {
            let Some(letter) = state.letters.get_mut(&operation) else { continue };
            letter.turn = false;
            if self.retries.enabled || !letter.was_sent() {
                letter.begin_anew();
                state.stir(operation);
            } else {
                letter.rest();
            }
        }
        state.forget_old();
        self.stirred.notify_one();
    }

    /// A session is over: what it asked to read, nobody waits for.
    pub fn end_session(&self) {
        let mut state = self.state.lock();
        state.turns.clear();
        state.letters.retain(|_, letter| {
            let is_kept = letter.keeping == Keeping::Whole;
            letter.turn = false;
            if !is_kept {
                letter.cancelled.cancel();
                letter.room.notify_waiters();
            }
            is_kept
        });
    }

    /// What the hub says about an answer.
    pub fn heard(&self, down: ResultsDown) {
        let mut state = self.state.lock();
        match down {
            ResultsDown::Credit(operation, credit) => {
                if let Some(letter) = state.letters.get_mut(&operation) {
                    letter.credit = letter.credit.max(credit);
                    self.stir(&mut state, operation);
                }
            }
            ResultsDown::Done(operation) => {
                if let Some(letter) = state.letters.remove(&operation) {
                    match letter.ending {
                        Some(ending) => state.remember(operation, letter.keeping, &ending),
                        // The hub has its answer from elsewhere, or wants none.
                        None => letter.cancelled.cancel(),
                    }
                }
                self.delivered.notify_waiters();
            }
        }
    }

    /// Waits until the hub has the answers of all mutations that were begun.
    pub async fn settled(&self) {
        loop {
            let delivered = self.delivered.notified();
            let is_due = |letter: &Letter| letter.keeping == Keeping::Whole && !letter.resting;
            if !self.state.lock().letters.values().any(is_due) {
                return;
            }
            delivered.await;
        }
    }

    /// The next piece to send; waits until there is one.
    pub async fn next(&self) -> ResultPart {
        loop {
            let stirred = self.stirred.notified();
            let due = {
                let mut state = self.state.lock();
                if let Some(part) = state.next_part() {
                    return part;
                }
                state.next_resend(&self.retries)
            };
            match due {
                None => stirred.await,
                Some(due) => tokio::select! {
                    () = stirred => {}
                    () = sleep_until(due) => self.state.lock().resend(&self.retries),
                },
            }
        }
    }

    /// Gives a letter its turn if it has something to say, and wakes the one who sends.
    fn stir(&self, state: &mut State, operation: OperationId) {
        state.stir(operation);
        self.stirred.notify_one();
    }
}

// === impl State ===

impl State {
    /// None if nobody wants it any more.
    fn letter(&mut self, letterbox: &Letterbox) -> Option<&mut Letter> {
        self.letters.get_mut(&letterbox.operation).filter(|letter| letter.serial == letterbox.serial)
    }

    /// Gives a letter its turn if it has something to say.
    fn stir(&mut self, operation: OperationId) {
        if let Some(letter) = self.letters.get_mut(&operation)
            && letter.has_something_to_say()
            && !letter.turn
        {
            letter.turn = true;
            self.turns.push_back(operation);
        }
    }

    fn next_part(&mut self) -> Option<ResultPart> {
        while let Some(operation) = self.turns.pop_front() {
            let Some(letter) = self.letters.get_mut(&operation) else { continue };
            letter.turn = false;
            let Some(part) = letter.next_part(operation) else { continue };
            if part.ending.is_some() {
                if let Some(waited) = letter.closed_at.map(|at| at.elapsed()).filter(|waited| *waited > SLOW)
                {
                    warn!(operationId = %operation, ?waited, "High latency detected: the result waited {waited:?} to be sent");
                }
                if letter.keeping == Keeping::Passing {
                    self.letters.remove(&operation);
                }
            } else {
                self.stir(operation);
            }
            return Some(part);
        }
        None
    }

    /// When the first letter that was sent and not acknowledged is sent again.
    fn next_resend(&self, retries: &ResponseRetries) -> Option<Instant> {
        self.letters.values().filter_map(|letter| letter.resend_at(retries)).min()
    }

    fn resend(&mut self, retries: &ResponseRetries) {
        let now = Instant::now();
        let is_due = |letter: &Letter| letter.resend_at(retries).is_some_and(|at| at <= now);
        let due: Vec<_> =
            self.letters.iter().filter(|(_, letter)| is_due(letter)).map(|(id, _)| *id).collect();
        for operation in due {
            let Some(letter) = self.letters.get_mut(&operation) else { continue };
            warn!(operationId = %operation, "error sending operation result: the hub has not acknowledged it");
            if letter.try_again(retries) {
                self.stir(operation);
            } else {
                warn!(operationId = %operation, "Max retries reached for operation result");
                letter.rest();
            }
        }
    }

    /// Of letters that nobody has asked for in a long time, what came of the operation is remembered.
    fn forget_old(&mut self) {
        let is_old = |letter: &Letter| {
            letter.resting && letter.closed_at.is_some_and(|closed_at| closed_at.elapsed() > LONGEST_REST)
        };
        let old: Vec<_> =
            self.letters.iter().filter(|(_, letter)| is_old(letter)).map(|(id, _)| *id).collect();
        for operation in old {
            self.forget(operation);
        }
    }

    fn forget(&mut self, operation: OperationId) {
        let Some(letter) = self.letters.remove(&operation) else { return };
        if let Some(ending) = letter.ending {
            self.remember(operation, letter.keeping, &ending);
        }
    }

    fn remember(&mut self, operation: OperationId, keeping: Keeping, ending: &Ending) {
        // What was read may be read again.
        if keeping == Keeping::Whole {
            self.past.remember(operation, &ending.outcome);
        }
    }

    /// Makes room for a letter: the oldest others lose their bodies.
    fn shed(&mut self, newest: OperationId) {
        let kept = |letter: &Letter| {
            if letter.keeping == Keeping::Whole && letter.ending.is_some() { letter.held() } else { 0 }
        };
        let mut bytes: usize = self.letters.values().map(kept).sum();
        self.forget_old();
        while bytes > KEPT_BYTES {
            let others = self.letters.iter_mut().filter(|(id, letter)| **id != newest && kept(letter) > 0);
            let Some((operation, oldest)) = others.min_by_key(|(id, _)| **id) else { return };
            warn!(operationId = %operation, "too many results wait for the hub: this one keeps its outcome only");
            bytes -= oldest.held();
            oldest.lose_body();
            if oldest.resting {
                let operation = *operation;
                self.forget(operation);
            }
        }
    }
}

// === impl Letterbox ===

impl Letterbox {
    /// The answer is complete.
    pub(super) fn close(&self, rest: Bytes, ending: Ending) {
        let mut state = self.outbox.state.lock();
        let Some(letter) = state.letter(self) else { return };
        letter.push(rest);
        letter.ending = Some(ending);
        letter.closed_at = Some(Instant::now());
        state.shed(self.operation);
        self.outbox.stir(&mut state, self.operation);
    }
}

impl AnswerSink for Letterbox {
    fn begin(&self, content: Content) {
        if let Some(letter) = self.outbox.state.lock().letter(self) {
            letter.content = content;
        }
    }

    async fn send(&self, piece: Bytes) -> Result<(), Gone> {
        loop {
            let room = {
                let mut state = self.outbox.state.lock();
                let letter = state.letter(self).ok_or(Gone)?;
                if letter.has_room() {
                    letter.push(piece);
                    self.outbox.stir(&mut state, self.operation);
                    return Ok(());
                }
                letter.room.clone().notified_owned()
            };
            room.await;
        }
    }
}
