//! Delivery of one operation, from its current stage to its end.

mod end;
mod seek;
mod take;
mod wait;

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use spindrift_model::{AccountName, ErrorKind, OperationError, OperationId};
use spindrift_process::report;
use spindrift_protocol::EncodedOperation;
use tokio::{sync::mpsc, time::Instant};
use tracing::warn;

use super::{
    Shared,
    admission::Admitted,
    answer::Answer,
    errors,
    links::{Link, Sent},
    running::{Arrival, Event, OpenOperation},
    vault::SealedItem,
};
use crate::store::{Seat, Step, StoreError};

pub(super) use end::End;

/// Time that the result of an agent, which keeps the deadline itself, may take to arrive.
pub(super) const GRACE: Duration = Duration::from_secs(3);

/// Interval at which a row is read that another hub may change.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// Operation without its request, as a row has it.
#[derive(Debug, Clone)]
pub(super) struct OperationSummary {
    pub(super) id: OperationId,
    pub(super) account: AccountName,
    pub(super) verb: &'static str,
    pub(super) target: String,
    pub(super) mutation: bool,
    /// Set if its duration is up to the reader.
    pub(super) is_stream: bool,
}

/// Stage of a delivery.
#[derive(Debug)]
pub(super) enum Stage {
    /// Looking for an agent.
    Seeking,
    /// Sending by this link.
    Sending(Arc<Link>),
    /// Sent, and waiting for the result; by this link, if it is still up.
    Waiting(Option<Arc<Link>>),
    /// Another hub delivers it; the row has its progress.
    Following,
}

/// Next stage, or the end.
pub(super) type Next = Result<Stage, End>;

/// Pieces from the agent, and events to the caller.
pub(super) type Channels = (mpsc::UnboundedReceiver<Arrival>, mpsc::UnboundedSender<Event>);

/// Delivery of one operation.
#[derive(Debug)]
pub(super) struct Delivery {
    shared: Arc<Shared>,
    entry: Arc<OpenOperation>,
    summary: OperationSummary,
    deadline: Instant,
    /// Verb in JSON, once it is read.
    body: Option<Bytes>,
    admitted: Option<Admitted>,
    /// Agent that it was sent to, by its row.
    sent: Option<Seat>,
    /// Set if an agent may have all of it.
    delivered: bool,
    /// Set if the row has the outcome `unknown` already.
    was_unknown: bool,
    /// Set if another hub reads the stored answer as it grows.
    read_elsewhere: bool,
    answer: Answer,
    arrivals_rx: mpsc::UnboundedReceiver<Arrival>,
    /// To the caller; bounded by credit.
    events_tx: mpsc::UnboundedSender<Event>,
}

// === impl Delivery ===

impl Delivery {
    pub(super) fn new(
        shared: Arc<Shared>,
        entry: Arc<OpenOperation>,
        summary: OperationSummary,
        deadline: Instant,
        (arrivals_rx, events_tx): Channels,
    ) -> Self {
        Self {
            shared,
            entry,
            summary,
            deadline,
            body: None,
            admitted: None,
            sent: None,
            delivered: false,
            was_unknown: false,
            read_elsewhere: false,
            answer: Answer::default(),
            arrivals_rx,
            events_tx,
        }
    }

    pub(super) fn with_body(self, body: Option<Bytes>) -> Self {
        Self { body, ..self }
    }

    pub(super) fn with_admission(self, admitted: Option<Admitted>) -> Self {
        Self { admitted, ..self }
    }

    /// The row has it as sent, by this hub before its restart or by another one.
    pub(super) fn with_sent(self, sent: Option<Seat>) -> Self {
        Self { delivered: sent.is_some(), sent, ..self }
    }

    /// The row has the outcome `unknown`: only an agent can correct it.
    pub(super) fn with_unknown(self, was_unknown: bool) -> Self {
        Self { was_unknown, ..self }
    }

    /// Another hub accepted it, and reads the stored answer.
    pub(super) fn with_reader_elsewhere(self, read_elsewhere: bool) -> Self {
        Self { read_elsewhere, ..self }
    }

    /// Runs until the operation has ended; when the hub stops, the row has the stage for the next one.
    pub(super) async fn run(mut self, stage: Stage) -> Result<(), Infallible> {
        let token = self.shared.tasks.token();
        let whole = async {
            let end = self.advance(stage).await;
            self.conclude(end).await;
        };
        token.run_until_cancelled(whole).await;
        self.shared.open.lock().remove(&self.summary.id);
        Ok(())
    }

    async fn advance(&mut self, mut stage: Stage) -> End {
        // The link was chosen when the row was written, which has it.
        if let Stage::Sending(link) = &stage {
            self.sent = Some(link.seat().clone());
        }
        loop {
            let next = match stage {
                Stage::Seeking => self.seek().await,
                Stage::Sending(link) => self.send(link).await,
                Stage::Waiting(link) => self.wait(link).await,
                Stage::Following => self.follow().await,
            };
            match next {
                Ok(next) => stage = next,
                Err(end) => return end,
            }
        }
    }

    /// Sends it, once the row has it as sent.
    async fn send(&mut self, link: Arc<Link>) -> Next {
        let body = match self.body().await {
            Ok(Some(body)) => body,
            // It cannot be sent again, and need not be: the agent sends its results to each session.
            Ok(None) | Err(_) if self.delivered && self.summary.mutation => {
                return Ok(Stage::Waiting(Some(link)));
            }
            Ok(None) => return Err(End::of(unreadable())),
            Err(error) => {
                warn!(operation = %self.summary.id, error = %report(&error), "the request of an operation could not be read");
                return Err(End::of(errors::not_sent()));
            }
        };
        // An operation that an agent may have begun is past its turn, and past cancelling here.
        if !self.delivered
            && let Some(mut admitted) = self.admitted.take()
        {
            let waited = tokio::select! {
                biased;
                () = self.entry.cancel.cancelled() => Err(End::of(OperationError::cancelled())),
                () = tokio::time::sleep_until(self.deadline) => Err(End::of(OperationError::deadline_exceeded())),
                () = admitted.its_turn() => Ok(()),
            };
            self.admitted = Some(admitted);
            waited?;
        }
        if self.sent.as_ref() != Some(link.seat()) {
            let config = &self.shared.config;
            let (tenant, hub, seat) = (config.tenant.clone(), config.hub.clone(), link.seat().clone());
            let step = Step::MarkSent { tenant, id: self.summary.id, hub, seat };
            match self.shared.ledger.write(step).await {
                Ok(marked) if marked.taken => self.sent = Some(link.seat().clone()),
                Ok(_) => return Ok(Stage::Following),
                Err(error) => {
                    warn!(operation = %self.summary.id, error = %report(&error), "an operation was not sent");
                    return Err(End::of(errors::not_sent()));
                }
            }
        }
        let operation = EncodedOperation {
            id: self.summary.id,
            account: self.summary.account.clone(),
            time_left: self.deadline.saturating_duration_since(Instant::now()),
            verb: body,
        };
        match link.send(operation).await {
            Sent::Whole => {
                self.delivered = true;
                if let Some(admitted) = &mut self.admitted {
                    admitted.sent();
                }
                Ok(Stage::Waiting(Some(link)))
            }
            Sent::NotWhole if self.delivered && self.summary.mutation => Ok(Stage::Waiting(None)),
            Sent::NotWhole => self.unsend().await,
        }
    }

    /// No agent has all of it: it may be sent to another one.
    async fn unsend(&mut self) -> Next {
        let config = &self.shared.config;
        match self.shared.store.unsend(&config.tenant, self.summary.id, &config.hub).await {
            Ok(true) => {
                self.sent = None;
                Ok(Stage::Seeking)
            }
            Ok(false) => Ok(Stage::Following),
            // The row still has it as sent: the store decides.
            Err(_) => Ok(Stage::Waiting(None)),
        }
    }

    /// Verb in JSON; from the store, if another hub, or this one before its restart, accepted it. None if it is erased, or
    /// encrypted with another key.
    async fn body(&mut self) -> Result<Option<Bytes>, StoreError> {
        if self.body.is_none() {
            let (shared, id) = (&self.shared, self.summary.id);
            let stored = shared.store.operation_body(&shared.config.tenant, id).await?;
            let ours = stored.filter(|(key_id, _)| key_id == shared.vault.key_id());
            self.body = ours.and_then(|(_, sealed)| shared.vault.open(id, SealedItem::Body, &sealed));
        }
        Ok(self.body.clone())
    }
}

fn unreadable() -> OperationError {
    let message =
        "the hub that accepted it was lost, and no other hub has the key that encrypts it; try again";
    OperationError::hub(ErrorKind::Unavailable, message)
}
