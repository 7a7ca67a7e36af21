//! End of an operation: the hub reports it to the caller, records it in the row, and then lets the agent drop it.
//!
//! The caller does not wait for the store. Nothing is lost by that: if this hub exits before the row has the end, the agent
//! sends it again to the next one. If that agent exits, too, the row gets `unknown`, which is true.

use std::time::Duration;

use spindrift_model::{Content, Ending, ErrorKind, FailedState, OperationError, Outcome};
use spindrift_process::report;
use spindrift_protocol::ResultsDown;
use tokio::{sync::mpsc, time::sleep};
use tracing::{info, warn};

use super::{Delivery, OperationSummary};
use crate::{
    dispatch::{answer, errors, running::Event},
    store::{OperationEnd, Step},
};

/// Pause before an end is written again. It is retried without limit, since the next hub that finds a row without an end
/// would carry the operation out; soon at first, then at the longest pause.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Failures after which a caller that waits for "nothing was done" gets [`errors::not_recorded`] instead.
const PATIENCE: u32 = 3;

/// End of an operation, and its origin.
#[derive(Debug)]
pub(in crate::dispatch) struct End {
    ending: Ending,
    content: Content,
    reported_by: ReportedBy,
}

#[derive(Debug)]
enum ReportedBy {
    Hub,
    Agent(mpsc::UnboundedSender<ResultsDown>),
    /// The row has it already.
    Row,
    /// The row has it already, and the answer cannot be read.
    RowAlone,
}

// === impl End ===

impl End {
    /// End by this hub.
    pub(in crate::dispatch) fn of(error: OperationError) -> Self {
        let ending = Ending::without_agent(error.into());
        Self { ending, content: Content::Json, reported_by: ReportedBy::Hub }
    }

    /// End by this hub, because the answer is broken or incomplete.
    pub(in crate::dispatch) fn broken(message: &str) -> Self {
        Self::of(OperationError::hub(ErrorKind::BadAnswer, message))
    }

    /// End that the agent reported.
    pub(in crate::dispatch) fn by_agent(
        ending: Ending,
        content: Content,
        down_tx: mpsc::UnboundedSender<ResultsDown>,
    ) -> Self {
        Self { ending, content, reported_by: ReportedBy::Agent(down_tx) }
    }

    /// End that another hub recorded.
    pub(in crate::dispatch) fn recorded(ending: Ending, content: Content) -> Self {
        Self { ending, content, reported_by: ReportedBy::Row }
    }

    /// End that another hub recorded, with an answer that cannot be read.
    pub(in crate::dispatch) fn without_answer(ending: Ending) -> Self {
        Self { ending, content: Content::Json, reported_by: ReportedBy::RowAlone }
    }
}

// === impl Delivery ===

impl Delivery {
    /// Reports the end to the caller, records it, and then lets the agent drop it.
    pub(super) async fn conclude(&mut self, end: End) {
        let End { ending, content, reported_by } = end;
        let down_tx = match reported_by {
            ReportedBy::Row => return self.report(content, ending),
            ReportedBy::RowAlone => {
                self.events_tx.send(Event::Forgotten(ending)).ok();
                return;
            }
            ReportedBy::Hub => None,
            ReportedBy::Agent(down_tx) => Some(down_tx),
        };
        let by_agent = down_tx.is_some();
        if matches!(ending.outcome, Outcome::Succeeded { .. }) {
            self.store_whole().await;
        }
        if by_agent || !self.was_unknown {
            self.shared.metrics.operation(self.summary.verb, self.summary.is_stream, &ending);
        }
        let (outcome, took) = (ending.outcome.word(), ending.took);
        let reason = match &ending.outcome {
            Outcome::Failed(error) => Some(error.to_string()),
            Outcome::Succeeded { .. } => None,
        };
        let is_first = self.record(ending, content, by_agent).await;
        let OperationSummary { id, account, verb, target, .. } = &self.summary;
        match reason {
            _ if !is_first => {}
            None => info!(operation = %id, %account, verb, target, outcome, ?took, "operation ended"),
            Some(reason) => {
                info!(operation = %id, %account, verb, target, outcome, ?took, reason, "operation failed");
            }
        }
        if let Some(down_tx) = down_tx {
            down_tx.send(ResultsDown::Done(*id)).ok();
        }
    }

    /// Reports the end and records it, in the order that keeps both true. Returns whether the row had no end before.
    async fn record(&mut self, ending: Ending, content: Content, by_agent: bool) -> bool {
        let step = self.step(ending.clone(), content, by_agent);
        // Queued before the caller gets the end: a caller who then reads the row waits for this.
        let mut writing = self.shared.ledger.write(step.clone());
        // The end that an agent reports holds, recorded or not. That a change was not made holds only once it is recorded:
        // until then a restarted hub would find it queued, and make it.
        let holds = by_agent || !self.summary.mutation || is_unknown(&ending.outcome);
        let mut unreported = Some(ending);
        if holds && let Some(ending) = unreported.take() {
            self.report(content, ending);
        }
        let mut failures = 0;
        let is_first = loop {
            match writing.await {
                Ok(stepped) => break stepped.taken,
                Err(error) => {
                    warn!(operation = %self.summary.id, error = %report(&error), "the end of an operation was not recorded, retrying");
                }
            }
            failures += 1;
            if failures == PATIENCE
                && let Some(ending) = unreported.take()
            {
                let outcome = errors::not_recorded().into();
                self.report(content, Ending { outcome, took: ending.took });
            }
            sleep((PAUSE * failures).min(LONGEST_PAUSE)).await;
            writing = self.shared.ledger.write(step.clone());
        };
        if let Some(ending) = unreported {
            self.report(content, ending);
        }
        is_first
    }

    fn report(&mut self, content: Content, ending: Ending) {
        for piece in self.answer.whole.drain(..) {
            self.events_tx.send(Event::Piece(content, piece)).ok();
        }
        self.events_tx.send(Event::Ended(content, ending)).ok();
    }

    /// Stores the answer of a change, if a caller may read it later.
    async fn store_whole(&mut self) {
        if !self.entry.is_kept() && !self.events_tx.is_closed() {
            return;
        }
        for piece in self.answer.whole.clone() {
            if let Err(error) = answer::store(&self.shared, self.summary.id, &mut self.answer, &piece).await {
                warn!(operation = %self.summary.id, %error, "an answer was not stored");
                // A part of it would be taken for all of it.
                self.answer.lost = true;
                return;
            }
        }
    }

    /// Step that records the end.
    fn step(&self, ending: Ending, content: Content, by_agent: bool) -> Step {
        let config = &self.shared.config;
        let answer_bytes = match ending.outcome {
            Outcome::Succeeded { .. } => self.answer.stored_bytes(self.entry.is_kept()),
            Outcome::Failed(_) => None,
        };
        let answered_to = by_agent.then(|| config.hub.clone());
        let end = OperationEnd { ending, content, answer_bytes, answered_to };
        Step::End { tenant: config.tenant.clone(), id: self.summary.id, end }
    }
}

fn is_unknown(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(error) if error.state() == FailedState::Unknown)
}
