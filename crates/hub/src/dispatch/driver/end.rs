//! How operations end: the caller hears, the row says so, and then the agent may forget it.
//!
//! Nobody waits for the store to hear what is known. Nothing is lost by that: if this hub dies before the row says it, the
//! agent tells it again to the next one. If that very agent dies, too, the row will say `unknown`, which is no lie.

use std::time::Duration;

use spindrift_model::{Content, Ending, Outcome};
use spindrift_process::report;
use spindrift_protocol::ResultsDown;
use tokio::{sync::mpsc, time::sleep};
use tracing::{info, warn};

use super::{Driver, Task};
use crate::{
    dispatch::{answer, refusal::Refusal, running::Event},
    store::{OperationEnd, Step},
};

/// A store that is away is asked on and on, since an end that nobody wrote down would be no end to the next hub that finds
/// the row; first soon, then at this pace.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// After so many failures, who waits to hear that nothing was done hears that nobody knows.
const PATIENCE: u32 = 3;

/// Why nobody knows of an operation that was not sent: once the store answers, its row will tell.
pub(crate) const UNSURE: &str = "nothing was sent, but the hub's store does not answer, so that a hub that is started anew may still send it";

/// How an operation ended, and who says so.
#[derive(Debug)]
pub(in crate::dispatch) struct End {
    ending: Ending,
    content: Content,
    said_by: SaidBy,
}

#[derive(Debug)]
enum SaidBy {
    Us,
    Agent(mpsc::UnboundedSender<ResultsDown>),
    /// It is written down already.
    Row,
    /// It is written down already, and its answer cannot be read.
    RowAlone,
}

// === impl End ===

impl End {
    fn of(outcome: Outcome) -> Self {
        let ending = Ending { outcome, took: Duration::ZERO };
        Self { ending, content: Content::Json, said_by: SaidBy::Us }
    }

    pub(in crate::dispatch) fn ours(refusal: Refusal) -> Self {
        Self::of(refusal.into())
    }

    pub(in crate::dispatch) fn cancelled() -> Self {
        Self::of(Outcome::Cancelled)
    }

    pub(in crate::dispatch) fn expired() -> Self {
        Self::of(Outcome::Expired)
    }

    pub(in crate::dispatch) fn unknown(reason: String) -> Self {
        Self::of(Outcome::Unknown { reason })
    }

    /// An answer that cannot be made whole.
    pub(in crate::dispatch) fn broken(message: &str) -> Self {
        Self::ours(Refusal::new(502, "BadGateway", message))
    }

    pub(in crate::dispatch) fn unreadable() -> Self {
        let message = "the hub that took it on died, and no other has the key that encrypts it; ask again";
        Self::ours(Refusal::new(503, "ServiceUnavailable", message))
    }

    pub(in crate::dispatch) fn told(
        ending: Ending,
        content: Content,
        down_tx: mpsc::UnboundedSender<ResultsDown>,
    ) -> Self {
        Self { ending, content, said_by: SaidBy::Agent(down_tx) }
    }

    pub(in crate::dispatch) fn elsewhere(ending: Ending, content: Content) -> Self {
        Self { ending, content, said_by: SaidBy::Row }
    }

    pub(in crate::dispatch) fn forgotten(ending: Ending) -> Self {
        Self { ending, content: Content::Json, said_by: SaidBy::RowAlone }
    }
}

// === impl Driver ===

impl Driver {
    /// Tells all who want to know how it ended, and writes it down.
    pub(super) async fn conclude(&mut self, end: End) {
        let End { ending, content, said_by } = end;
        let by_agent = match &said_by {
            SaidBy::Row => return self.tell(content, ending),
            SaidBy::RowAlone => {
                self.events_tx.send(Event::Forgotten(ending)).ok();
                return;
            }
            SaidBy::Us => false,
            SaidBy::Agent(_) => true,
        };
        if matches!(ending.outcome, Outcome::Succeeded { .. }) {
            self.store_whole().await;
        }
        if by_agent || !self.was_unknown {
            self.shared.metrics.operation(self.task.verb, &ending);
        }
        let (outcome, took) = (ending.outcome.word(), ending.took);
        let step = self.step(ending.clone(), content, by_agent);
        // Handed in before the caller hears: whoever then asks for the row waits for this.
        let mut writing = self.shared.ledger.write(step.clone());
        // What an agent says holds, written down or not. That a change was not made holds only once the row says so: until
        // then a hub that is started anew would find it waiting, and make it.
        let holds = by_agent || !self.task.mutation || matches!(ending.outcome, Outcome::Unknown { .. });
        let mut untold = Some(ending);
        if holds && let Some(ending) = untold.take() {
            self.tell(content, ending);
        }
        let mut failures = 0;
        let first = loop {
            match writing.await {
                Ok(stepped) => break stepped.taken,
                Err(error) => {
                    warn!(operation = %self.task.id, error = %report(&error), "the end of an operation was not recorded");
                }
            }
            failures += 1;
            if failures == PATIENCE
                && let Some(ending) = untold.take()
            {
                self.tell(content, unsure(ending.took));
            }
            sleep((PAUSE * failures).min(LONGEST_PAUSE)).await;
            writing = self.shared.ledger.write(step.clone());
        };
        if let Some(ending) = untold {
            self.tell(content, ending);
        }
        let Task { id, account, verb, target, .. } = &self.task;
        if first {
            info!(operation = %id, %account, verb, target, outcome, ?took, "operation ended");
        }
        if let SaidBy::Agent(down_tx) = said_by {
            down_tx.send(ResultsDown::Done(*id)).ok();
        }
    }

    fn tell(&mut self, content: Content, ending: Ending) {
        for piece in self.answer.whole.drain(..) {
            self.events_tx.send(Event::Piece(content, piece)).ok();
        }
        self.events_tx.send(Event::Ended(content, ending)).ok();
    }

    /// The answer of a mutation is stored at its end, if anybody may ask for it.
    async fn store_whole(&mut self) {
        if !self.entry.is_kept() && !self.events_tx.is_closed() {
            return;
        }
        for piece in self.answer.whole.clone() {
            if let Err(error) = answer::store(&self.shared, self.task.id, &mut self.answer, &piece).await {
                warn!(operation = %self.task.id, %error, "an answer was not kept");
                // A part of it would pass for all of it.
                self.answer.lost = true;
                return;
            }
        }
    }

    /// What the row is to say.
    fn step(&self, ending: Ending, content: Content, by_agent: bool) -> Step {
        let config = &self.shared.config;
        let answer_bytes = match ending.outcome {
            Outcome::Succeeded { .. } => self.answer.stored_bytes(self.entry.is_kept()),
            _ => None,
        };
        let answered_to = by_agent.then(|| config.hub.clone());
        let end = OperationEnd { ending, content, answer_bytes, answered_to };
        Step::End { tenant: config.tenant.clone(), id: self.task.id, end }
    }
}

/// An end that could not be written down, and so may not be one.
fn unsure(took: Duration) -> Ending {
    Ending { outcome: Outcome::Unknown { reason: UNSURE.into() }, took }
}
