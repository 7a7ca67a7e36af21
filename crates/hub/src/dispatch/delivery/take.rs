//! Receives the pieces of an answer from the agent that has the operation.

use spindrift_model::{ErrorKind, OperationError};
use spindrift_process::report;
use spindrift_protocol::ResultsDown;
use tracing::{debug, warn};

use super::{Delivery, End};
use crate::dispatch::{
    answer::{self, LARGEST_STORED, LARGEST_WHOLE},
    running::{Arrival, Event},
};

// === impl Delivery ===

impl Delivery {
    /// Handles the next piece; returns the end if it was the last.
    pub(super) async fn take(&mut self, arrival: Arrival) -> Option<End> {
        let Arrival { part, seat, down_tx } = arrival;
        if self.sent.as_ref() != Some(&seat) {
            // From an agent that had it before: it may drop it.
            if part.ending.is_some() {
                down_tx.send(ResultsDown::Done(self.summary.id)).ok();
            }
            return None;
        }
        if part.offset == 0 {
            if self.answer.passed {
                return Some(
                    self.broken("the agent restarted its answer after a part of it had been passed on"),
                );
            }
            self.begin(&down_tx).await;
            self.answer.content = part.content;
        } else if part.offset != self.answer.received {
            debug!(operation = %self.summary.id, offset = part.offset, "a piece of an answer was ignored");
            return None;
        }
        self.answer.received += part.chunk.len() as u64;
        if self.answer.received > self.entry.granted() {
            return Some(self.broken("the agent sent more than it was asked for"));
        }
        if !part.chunk.is_empty()
            && let Some(end) = self.pass_on(part.chunk).await
        {
            return Some(end);
        }
        part.ending.map(|ending| End::by_agent(ending, self.answer.content, down_tx))
    }

    /// End by a broken answer. Only a whole one shows whether a change was made.
    fn broken(&self, problem: &str) -> End {
        if self.summary.mutation { End::of(OperationError::unknown(problem)) } else { End::broken(problem) }
    }

    async fn begin(&mut self, down_tx: &tokio::sync::mpsc::UnboundedSender<ResultsDown>) {
        self.entry.begin(down_tx.clone());
        if self.answer.stored > 0 {
            let removed = self.shared.store.forget_parts(&self.shared.config.tenant, self.summary.id).await;
            if let Err(error) = removed {
                warn!(operation = %self.summary.id, error = %report(&error), "an old answer was not removed");
            }
        }
        self.answer = answer::Answer::default();
    }

    async fn pass_on(&mut self, chunk: bytes::Bytes) -> Option<End> {
        // The answer of a change is passed on whole: its status comes first.
        if self.summary.mutation {
            if self.answer.received > LARGEST_WHOLE {
                return Some(self.broken("the answer is too long"));
            }
            self.entry.take(chunk.len());
            self.answer.whole.push(chunk);
            return None;
        }
        if self.entry.is_kept() {
            if self.answer.received > LARGEST_STORED {
                let message = format!(
                    "the answer is longer than {LARGEST_STORED} bytes and cannot be stored; wait for it"
                );
                return Some(End::of(OperationError::hub(ErrorKind::TooLarge, message)));
            }
            if self.answer.stored + chunk.len() as u64 != self.answer.received {
                return Some(End::broken("the caller disconnected just when the answer began; try again"));
            }
            if let Err(error) = answer::store(&self.shared, self.summary.id, &mut self.answer, &chunk).await {
                warn!(operation = %self.summary.id, %error, "an answer was not stored");
                return Some(End::broken("the hub could not store the answer; see its log"));
            }
            self.answer.passed |= self.read_elsewhere;
        }
        let length = chunk.len();
        let is_received = self.events_tx.send(Event::Piece(self.answer.content, chunk)).is_ok();
        if is_received {
            self.answer.passed = true;
        } else {
            self.entry.take(length);
        }
        None
    }
}
