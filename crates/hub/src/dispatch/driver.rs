//! Carries one operation on, from where it stands to its end.

mod end;
mod seek;
mod take;
mod wait;

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use spindrift_model::{AccountName, OperationId};
use spindrift_process::report;
use spindrift_protocol::Request;
use tokio::{sync::mpsc, time::Instant};
use tracing::warn;

use super::{
    Shared,
    admission::Admitted,
    answer::Answer,
    links::{Link, Sent},
    refusal::Refusal,
    running::{Arrival, Entry, Event},
    vault::Place,
};
use crate::store::{Seat, Step, StoreError};

pub(super) use end::End;
pub(crate) use end::UNSURE;

/// An agent keeps its deadline by itself; its word about that may take so long.
pub(super) const GRACE: Duration = Duration::from_secs(3);

/// How often a row that another hub may change is read.
pub(super) const POLL: Duration = Duration::from_millis(100);

/// What is to be done, without its details.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) id: OperationId,
    pub(super) account: AccountName,
    pub(super) verb: &'static str,
    pub(super) target: String,
    pub(super) mutation: bool,
}

/// Where an operation stands.
#[derive(Debug)]
pub(super) enum Stage {
    /// An agent is looked for.
    Seeking,
    /// It goes down this link.
    Sending(Arc<Link>),
    /// It was sent; by this link, if it still lives.
    Waiting(Option<Arc<Link>>),
    /// Another hub carries it on; the row will tell.
    Following,
}

/// What comes next: a stage, or the end.
pub(super) type Next = Result<Stage, End>;

/// What comes from the agent, and what goes to whoever waits for it.
pub(super) type Channels = (mpsc::UnboundedReceiver<Arrival>, mpsc::UnboundedSender<Event>);

/// Carries one operation on.
#[derive(Debug)]
pub(super) struct Driver {
    shared: Arc<Shared>,
    entry: Arc<Entry>,
    task: Task,
    deadline: Instant,
    /// The verb in JSON, once it is known.
    body: Option<Bytes>,
    admitted: Option<Admitted>,
    /// To whom the row says it was sent.
    sent: Option<Seat>,
    /// Whether an agent may have all of it.
    delivered: bool,
    /// Whether the row says already that nobody knows what came of it.
    was_unknown: bool,
    /// Whether another hub reads what is stored of its answer, while it comes.
    read_elsewhere: bool,
    answer: Answer,
    arrivals_rx: mpsc::UnboundedReceiver<Arrival>,
    /// To whoever waits for it; bounded by credit.
    events_tx: mpsc::UnboundedSender<Event>,
}

// === impl Driver ===

impl Driver {
    pub(super) fn new(
        shared: Arc<Shared>,
        entry: Arc<Entry>,
        task: Task,
        deadline: Instant,
        (arrivals_rx, events_tx): Channels,
    ) -> Self {
        Self {
            shared,
            entry,
            task,
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

    /// The row says that it was sent, in an earlier life or by another hub.
    pub(super) fn with_sent(self, sent: Option<Seat>) -> Self {
        Self { delivered: sent.is_some(), sent, ..self }
    }

    /// The row says that nobody knows: only an agent can say more.
    pub(super) fn with_doubt(self, was_unknown: bool) -> Self {
        Self { was_unknown, ..self }
    }

    /// Another hub took it on, and reads here what comes of it.
    pub(super) fn with_reader_elsewhere(self, read_elsewhere: bool) -> Self {
        Self { read_elsewhere, ..self }
    }

    /// Runs until it has ended; when the hub stops, the row tells the next one where it stands.
    pub(super) async fn run(mut self, stage: Stage) -> Result<(), Infallible> {
        let token = self.shared.tasks.token();
        let whole = async {
            let end = self.carry(stage).await;
            self.conclude(end).await;
        };
        token.run_until_cancelled(whole).await;
        self.shared.open.lock().remove(&self.task.id);
        Ok(())
    }

    async fn carry(&mut self, mut stage: Stage) -> End {
        // A link that was chosen when the row was written: that row says so.
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

    /// Sends it, after the row says so.
    async fn send(&mut self, link: Arc<Link>) -> Next {
        let body = match self.body().await {
            Ok(Some(body)) => body,
            // It cannot be asked again, and need not be: the agent tells each session what it has done.
            Ok(None) | Err(_) if self.delivered && self.task.mutation => {
                return Ok(Stage::Waiting(Some(link)));
            }
            Ok(None) => return Err(End::unreadable()),
            Err(error) => {
                warn!(operation = %self.task.id, error = %report(&error), "what is asked could not be read");
                return Err(End::ours(Refusal::store()));
            }
        };
        // What an agent may have begun is past its turn, and past being called off by us.
        if !self.delivered
            && let Some(mut admitted) = self.admitted.take()
        {
            let waited = tokio::select! {
                biased;
                () = self.entry.cancel.cancelled() => Err(End::cancelled()),
                () = tokio::time::sleep_until(self.deadline) => Err(End::expired()),
                () = admitted.its_turn() => Ok(()),
            };
            self.admitted = Some(admitted);
            waited?;
        }
        if self.sent.as_ref() != Some(link.seat()) {
            let config = &self.shared.config;
            let (tenant, hub, seat) = (config.tenant.clone(), config.hub.clone(), link.seat().clone());
            let step = Step::MarkSent { tenant, id: self.task.id, hub, seat };
            match self.shared.ledger.write(step).await {
                Ok(marked) if marked.taken => self.sent = Some(link.seat().clone()),
                Ok(_) => return Ok(Stage::Following),
                Err(error) => {
                    warn!(operation = %self.task.id, error = %report(&error), "an operation was not sent");
                    return Err(End::ours(Refusal::store()));
                }
            }
        }
        let request = Request {
            operation: self.task.id,
            account: self.task.account.clone(),
            time_left: self.deadline.saturating_duration_since(Instant::now()),
            verb: body,
        };
        match link.send(request).await {
            Sent::Whole => {
                self.delivered = true;
                if let Some(admitted) = &mut self.admitted {
                    admitted.sent();
                }
                Ok(Stage::Waiting(Some(link)))
            }
            Sent::NotWhole if self.delivered && self.task.mutation => Ok(Stage::Waiting(None)),
            Sent::NotWhole => self.unsend().await,
        }
    }

    /// No agent has all of it: another one may be asked.
    async fn unsend(&mut self) -> Next {
        let config = &self.shared.config;
        match self.shared.store.unsend(&config.tenant, self.task.id, &config.hub).await {
            Ok(true) => {
                self.sent = None;
                Ok(Stage::Seeking)
            }
            Ok(false) => Ok(Stage::Following),
            // The row still says that it was sent; with what the store thinks, one does not argue.
            Err(_) => Ok(Stage::Waiting(None)),
        }
    }

    /// What is asked; from the store, if another life or hub was asked. None if it is erased, or under another's key.
    async fn body(&mut self) -> Result<Option<Bytes>, StoreError> {
        if self.body.is_none() {
            let (shared, id) = (&self.shared, self.task.id);
            let stored = shared.store.operation_body(&shared.config.tenant, id).await?;
            let ours = stored.filter(|(key_id, _)| key_id == shared.vault.key_id());
            self.body = ours.and_then(|(_, sealed)| shared.vault.open(id, Place::Body, &sealed));
        }
        Ok(self.body.clone())
    }
}
