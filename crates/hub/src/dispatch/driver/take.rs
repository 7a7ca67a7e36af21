//! Takes the pieces of an answer, from the agent that was asked.

use spindrift_process::report;
use spindrift_protocol::ResultsDown;
use tracing::{debug, warn};

use super::{Driver, End};
use crate::dispatch::{
    answer::{self, LARGEST_STORED, LARGEST_WHOLE},
    refusal::Refusal,
    running::{Arrival, Event},
};

// === impl Driver ===

impl Driver {
    /// Takes the next piece; the end, if it was the last.
    pub(super) async fn take(&mut self, arrival: Arrival) -> Option<End> {
        let Arrival { part, seat, down_tx } = arrival;
        if self.sent.as_ref() != Some(&seat) {
            // An agent that was asked before, and is not waited for any more: it may forget it.
            if part.ending.is_some() {
                down_tx.send(ResultsDown::Done(self.task.id)).ok();
            }
            return None;
        }
        if part.offset == 0 {
            if self.answer.passed {
                return Some(
                    self.broken("the agent began its answer anew, and a part of it had been passed on"),
                );
            }
            self.begin(&down_tx).await;
            self.answer.content = part.content;
        } else if part.offset != self.answer.received {
            debug!(operation = %self.task.id, offset = part.offset, "a piece of an answer was passed by");
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
        part.ending.map(|ending| End::told(ending, self.answer.content, down_tx))
    }

    /// An answer that cannot be made whole. Whether a change was made, only a whole one tells.
    fn broken(&self, problem: &str) -> End {
        if self.task.mutation { End::unknown(problem.to_owned()) } else { End::broken(problem) }
    }

    async fn begin(&mut self, down_tx: &tokio::sync::mpsc::UnboundedSender<ResultsDown>) {
        self.entry.begin(down_tx.clone());
        if self.answer.stored > 0 {
            let forgotten = self.shared.store.forget_parts(&self.shared.config.tenant, self.task.id).await;
            if let Err(error) = forgotten {
                warn!(operation = %self.task.id, error = %report(&error), "an old answer was not forgotten");
            }
        }
        self.answer = answer::Answer::default();
    }

    async fn pass_on(&mut self, chunk: bytes::Bytes) -> Option<End> {
        // What came of a mutation is told whole: its status goes first.
        if self.task.mutation {
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
                    "the answer is longer than {LARGEST_STORED} bytes and cannot be kept; wait for it"
                );
                return Some(End::ours(Refusal::new(413, "RequestEntityTooLarge", message)));
            }
            if self.answer.stored + chunk.len() as u64 != self.answer.received {
                return Some(End::broken("the answer began just when its caller left; ask again"));
            }
            if let Err(error) = answer::store(&self.shared, self.task.id, &mut self.answer, &chunk).await {
                warn!(operation = %self.task.id, %error, "an answer was not kept");
                return Some(End::broken("the hub could not keep the answer; its log says why"));
            }
            self.answer.passed |= self.read_elsewhere;
        }
        let length = chunk.len();
        let heard = self.events_tx.send(Event::Piece(self.answer.content, chunk)).is_ok();
        if heard {
            self.answer.passed = true;
        } else {
            self.entry.take(length);
        }
        None
    }
}
