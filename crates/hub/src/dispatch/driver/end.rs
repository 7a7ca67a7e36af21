//! How operations end: the row says so first, then the agent may forget it, then the caller hears.

use std::time::Duration;

use spindrift_model::{Content, Ending, Outcome};
use spindrift_process::report;
use spindrift_protocol::ResultsDown;
use tokio::{sync::mpsc, time::sleep};
use tracing::{info, warn};

use super::Driver;
use crate::{
    dispatch::{answer, refusal::Refusal, running::Event},
    store::OperationEnd,
};

/// A store that is away for a moment is waited for before the caller hears; one that is away for longer is asked on and on,
/// since an end that nobody wrote down would be no end to the next hub that finds the row.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);
const LONG_PAUSE: Duration = Duration::from_secs(2);

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
    /// Writes down how it ended, and tells all who want to know.
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
        let mut recorded = false;
        for _ in 0..ATTEMPTS {
            recorded = self.record(&ending, content, by_agent).await;
            if recorded {
                break;
            }
            sleep(PAUSE).await;
        }
        match self.unsure(recorded || by_agent, &ending) {
            Some(unsure) => self.tell(content, unsure),
            None => self.tell(content, ending.clone()),
        }
        while !recorded {
            sleep(LONG_PAUSE).await;
            recorded = self.record(&ending, content, by_agent).await;
        }
        if let SaidBy::Agent(down_tx) = said_by {
            down_tx.send(ResultsDown::Done(self.task.id)).ok();
        }
    }

    /// That a change was not made holds only once the row says so: until then a hub that is started anew would find it
    /// waiting, and make it.
    fn unsure(&self, is_certain: bool, ending: &Ending) -> Option<Ending> {
        let is_denial = !matches!(ending.outcome, Outcome::Unknown { .. });
        (!is_certain && is_denial && self.task.mutation).then(|| {
            let reason = "nothing was sent, but the hub's store does not answer, so that a hub that is started anew may still send it".into();
            Ending { outcome: Outcome::Unknown { reason }, ..ending.clone() }
        })
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

    /// Whether the row says so now.
    async fn record(&self, ending: &Ending, content: Content, by_agent: bool) -> bool {
        let (task, config) = (&self.task, &self.shared.config);
        let end = OperationEnd {
            ending,
            content,
            answer_bytes: match ending.outcome {
                Outcome::Succeeded { .. } => self.answer.stored_bytes(self.entry.is_kept()),
                _ => None,
            },
            answered_to: by_agent.then_some(&config.hub),
        };
        match self.shared.store.end_operation(&config.tenant, task.id, &end).await {
            Ok(first) => {
                if first {
                    self.shared.metrics.operation(task.verb, ending);
                    let (outcome, took) = (ending.outcome.word(), ending.took);
                    info!(operation = %task.id, account = %task.account, verb = task.verb, target = task.target, outcome, ?took, "operation ended");
                }
                true
            }
            Err(error) => {
                warn!(operation = %task.id, error = %report(&error), "the end of an operation was not recorded");
                false
            }
        }
    }
}
