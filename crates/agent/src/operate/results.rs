//! Results on their way to the hub: each as far as its credit goes, interleaved, until the hub has it.
//!
//! ```text
//! verb ─▶ ResultBuffer (of a change: kept whole until the hub acknowledges it; of a read: dropped as it is sent) ─▶ Results
//! ```
//!
//! They outlive sessions. A new session sends every kept result from its beginning; a read ends with the session that
//! requested it. A result that was sent often enough is parked, within a bound of bytes and of time, until its id comes
//! again or the next session begins.

mod buffer;
mod completed;
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
    buffer::{Keeping, ResultBuffer},
    completed::CompletedIds,
};
use super::{AnswerSink, Gone};
use crate::config::ResponseRetries;

/// Bytes of all results of changes that wait for the hub: beyond it, the oldest keep their outcome and lose their body.
const KEPT_BYTES: usize = 8 * 1024 * 1024;

/// Time for which a result stays parked that the hub did not acknowledge: longer than most outages of hubs and databases.
const LONGEST_PARKED: Duration = Duration::from_mins(10);

/// Time after which a result that waits to be sent is logged.
const SLOW: Duration = Duration::from_secs(5);

/// Results that are being written or sent.
#[derive(Debug)]
pub struct Results {
    retries: ResponseRetries,
    state: Mutex<State>,
    /// Notified when there may be something to send.
    ready: Notify,
    /// Notified when the hub has a result.
    delivered: Notify,
}

#[derive(Debug, Default)]
struct State {
    buffers: HashMap<OperationId, ResultBuffer>,
    /// Operations with something to send, each once.
    turns: VecDeque<OperationId>,
    completed: CompletedIds,
    /// Number of buffers opened so far.
    opened: u64,
}

/// Writer of the result of one operation.
#[derive(Debug)]
pub(super) struct ResultWriter {
    results: Arc<Results>,
    operation: OperationId,
    /// Serial number of the buffer: a read that was cut off may come again under its id before its writer notices.
    serial: u64,
}

// === impl Results ===

impl Results {
    /// No results yet.
    pub fn new(retries: ResponseRetries) -> Self {
        Self { retries, state: Mutex::default(), ready: Notify::new(), delivered: Notify::new() }
    }

    /// Opens the result of an operation; none if its id is known: then the known result is sent again.
    pub(super) fn open(
        self: &Arc<Self>,
        operation: OperationId,
        is_mutation: bool,
        cancelled: &CancellationToken,
    ) -> Option<ResultWriter> {
        let mut state = self.state.lock();
        if let Some(buffer) = state.buffers.get_mut(&operation) {
            debug!(operationId = %operation, "operation id known, sending its result again");
            if buffer.keeping == Keeping::Whole {
                buffer.restart();
                self.schedule(&mut state, operation);
            }
            return None;
        }
        let keeping = if is_mutation { Keeping::Whole } else { Keeping::Passing };
        state.opened += 1;
        let serial = state.opened;
        let mut buffer = ResultBuffer::new(serial, keeping, cancelled.clone());
        if let Some(outcome) = state.completed.outcome(operation) {
            debug!(operationId = %operation, "operation completed before, sending its outcome again");
            buffer.ending = Some(Ending { outcome, took: Duration::ZERO });
            state.buffers.insert(operation, buffer);
            self.schedule(&mut state, operation);
            return None;
        }
        state.buffers.insert(operation, buffer);
        Some(ResultWriter { results: self.clone(), operation, serial })
    }

    /// Cancels an operation that has not ended.
    pub(super) fn cancel(&self, operation: OperationId) {
        if let Some(buffer) = self.state.lock().buffers.get(&operation) {
            buffer.cancelled.cancel();
        }
    }

    /// Number of results that are being written or sent.
    pub(super) fn len(&self) -> usize {
        self.state.lock().buffers.values().filter(|buffer| !buffer.parked).count()
    }

    /// Begins a session: all kept results are sent from their beginning.
    pub fn begin_session(&self) {
        let mut state = self.state.lock();
        state.turns.clear();
        let kept: Vec<_> = state.buffers.keys().copied().collect();
        for operation in kept {
            let Some(buffer) = state.buffers.get_mut(&operation) else { continue };
            buffer.scheduled = false;
            if self.retries.enabled || !buffer.was_sent() {
                buffer.restart();
                state.schedule(operation);
            } else {
                buffer.park();
            }
        }
        state.drop_old();
        self.ready.notify_one();
    }

    /// Ends a session: its reads are cancelled.
    pub fn end_session(&self) {
        let mut state = self.state.lock();
        state.turns.clear();
        state.buffers.retain(|_, buffer| {
            let is_kept = buffer.keeping == Keeping::Whole;
            buffer.scheduled = false;
            if !is_kept {
                buffer.cancelled.cancel();
                buffer.space.notify_waiters();
            }
            is_kept
        });
    }

    /// Handles a message of the hub about a result.
    pub fn acknowledge(&self, down: ResultsDown) {
        let mut state = self.state.lock();
        match down {
            ResultsDown::Credit(operation, credit) => {
                if let Some(buffer) = state.buffers.get_mut(&operation) {
                    buffer.credit = buffer.credit.max(credit);
                    self.schedule(&mut state, operation);
                }
            }
            ResultsDown::Done(operation) => {
                if let Some(buffer) = state.buffers.remove(&operation) {
                    match buffer.ending {
                        Some(ending) => state.complete(operation, buffer.keeping, &ending),
                        // The hub has the result from elsewhere, or needs none.
                        None => buffer.cancelled.cancel(),
                    }
                }
                self.delivered.notify_waiters();
            }
            ResultsDown::Heartbeat => {}
        }
    }

    /// Waits until the hub has the results of all changes that were begun.
    pub async fn settled(&self) {
        loop {
            let delivered = self.delivered.notified();
            let is_due = |buffer: &ResultBuffer| buffer.keeping == Keeping::Whole && !buffer.parked;
            if !self.state.lock().buffers.values().any(is_due) {
                return;
            }
            delivered.await;
        }
    }

    /// Waits for the next piece to send.
    pub async fn next(&self) -> ResultPart {
        loop {
            let ready = self.ready.notified();
            let due = {
                let mut state = self.state.lock();
                if let Some(part) = state.next_part() {
                    return part;
                }
                state.next_resend(&self.retries)
            };
            match due {
                None => ready.await,
                Some(due) => tokio::select! {
                    () = ready => {}
                    () = sleep_until(due) => self.state.lock().resend(&self.retries),
                },
            }
        }
    }

    /// Schedules a buffer that has something to send, and wakes the sender.
    fn schedule(&self, state: &mut State, operation: OperationId) {
        state.schedule(operation);
        self.ready.notify_one();
    }
}

// === impl State ===

impl State {
    /// Buffer of a writer; none if it was dropped.
    fn buffer(&mut self, writer: &ResultWriter) -> Option<&mut ResultBuffer> {
        self.buffers.get_mut(&writer.operation).filter(|buffer| buffer.serial == writer.serial)
    }

    /// Schedules a buffer that has something to send.
    fn schedule(&mut self, operation: OperationId) {
        if let Some(buffer) = self.buffers.get_mut(&operation)
            && buffer.is_ready()
            && !buffer.scheduled
        {
            buffer.scheduled = true;
            self.turns.push_back(operation);
        }
    }

    fn next_part(&mut self) -> Option<ResultPart> {
        while let Some(operation) = self.turns.pop_front() {
            let Some(buffer) = self.buffers.get_mut(&operation) else { continue };
            buffer.scheduled = false;
            let Some(part) = buffer.next_part(operation) else { continue };
            if part.ending.is_some() {
                if let Some(waited) = buffer.closed_at.map(|at| at.elapsed()).filter(|waited| *waited > SLOW)
                {
                    warn!(operationId = %operation, ?waited, "High latency detected: the result waited {waited:?} to be sent");
                }
                if buffer.keeping == Keeping::Passing {
                    self.buffers.remove(&operation);
                }
            } else {
                self.schedule(operation);
            }
            return Some(part);
        }
        None
    }

    /// Time at which the first unacknowledged result is sent again.
    fn next_resend(&self, retries: &ResponseRetries) -> Option<Instant> {
        self.buffers.values().filter_map(|buffer| buffer.resend_at(retries)).min()
    }

    fn resend(&mut self, retries: &ResponseRetries) {
        let now = Instant::now();
        let is_due = |buffer: &ResultBuffer| buffer.resend_at(retries).is_some_and(|at| at <= now);
        let due: Vec<_> =
            self.buffers.iter().filter(|(_, buffer)| is_due(buffer)).map(|(id, _)| *id).collect();
        for operation in due {
            let Some(buffer) = self.buffers.get_mut(&operation) else { continue };
            warn!(operationId = %operation, "error sending operation result: the hub has not acknowledged it");
            if buffer.resend(retries) {
                self.schedule(operation);
            } else {
                warn!(operationId = %operation, "Max retries reached for operation result");
                buffer.park();
            }
        }
    }

    /// Drops results that were parked for too long; their outcome stays known.
    fn drop_old(&mut self) {
        let is_old = |buffer: &ResultBuffer| {
            buffer.parked && buffer.closed_at.is_some_and(|closed_at| closed_at.elapsed() > LONGEST_PARKED)
        };
        let old: Vec<_> =
            self.buffers.iter().filter(|(_, buffer)| is_old(buffer)).map(|(id, _)| *id).collect();
        for operation in old {
            self.drop_result(operation);
        }
    }

    fn drop_result(&mut self, operation: OperationId) {
        let Some(buffer) = self.buffers.remove(&operation) else { return };
        if let Some(ending) = buffer.ending {
            self.complete(operation, buffer.keeping, &ending);
        }
    }

    fn complete(&mut self, operation: OperationId, keeping: Keeping, ending: &Ending) {
        // A read may be executed again.
        if keeping == Keeping::Whole {
            self.completed.add(operation, &ending.outcome);
        }
    }

    /// Bounds the memory after a buffer was closed: the oldest others lose their bodies.
    fn shed(&mut self, newest: OperationId) {
        let kept = |buffer: &ResultBuffer| {
            if buffer.keeping == Keeping::Whole && buffer.ending.is_some() { buffer.held() } else { 0 }
        };
        let mut bytes: usize = self.buffers.values().map(kept).sum();
        self.drop_old();
        while bytes > KEPT_BYTES {
            let others = self.buffers.iter_mut().filter(|(id, buffer)| **id != newest && kept(buffer) > 0);
            let Some((operation, oldest)) = others.min_by_key(|(id, _)| **id) else { return };
            warn!(operationId = %operation, "too many results wait for the hub: this one keeps its outcome only");
            bytes -= oldest.held();
            oldest.lose_body();
            if oldest.parked {
                let operation = *operation;
                self.drop_result(operation);
            }
        }
    }
}

// === impl ResultWriter ===

impl ResultWriter {
    /// Completes the result.
    pub(super) fn close(&self, rest: Bytes, ending: Ending) {
        let mut state = self.results.state.lock();
        let Some(buffer) = state.buffer(self) else { return };
        buffer.push(rest);
        buffer.ending = Some(ending);
        buffer.closed_at = Some(Instant::now());
        state.shed(self.operation);
        self.results.schedule(&mut state, self.operation);
    }
}

impl AnswerSink for ResultWriter {
    fn begin(&self, content: Content) {
        if let Some(buffer) = self.results.state.lock().buffer(self) {
            buffer.content = content;
        }
    }

    async fn send(&self, piece: Bytes) -> Result<(), Gone> {
        loop {
            let space = {
                let mut state = self.results.state.lock();
                let buffer = state.buffer(self).ok_or(Gone)?;
                if buffer.has_space() {
                    buffer.push(piece);
                    self.results.schedule(&mut state, self.operation);
                    return Ok(());
                }
                buffer.space.clone().notified_owned()
            };
            space.await;
        }
    }
}
