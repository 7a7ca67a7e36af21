//! The steps of a run: what it says, learns and changes, and what of that an earlier run did before.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use aws_lc_rs::digest;
use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use spindrift_model::{AccountName, ErrorKind, OperationError, OperationId, Verb};
use spindrift_process::{backoff::Backoff, report};
use spindrift_spinnaker::{Failure, Line, TaskState};
use tokio::time::{Instant, sleep};
use tracing::warn;

use super::{TasksShared, halt::Halt};
use crate::{
    clouddriver::{AGAIN, Live},
    config::Kubernetes,
    dispatch::SealedItem,
    store::{StoreError, TaskEntry, TaskId, TaskSeat},
};

/// As long as kubectl may take before Clouddriver kills it.
const LONGEST: Duration = Duration::from_mins(10);

/// A store that is away for a moment is waited for; if it is away for longer, the task is taken up again later.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// How a change that was not accepted is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    /// Under its id: the hub answers with what became of it, or accepts it now.
    SameId,
    /// Under the next id: this one has ended.
    NewId,
}

/// Some bytes of a digest.
const STEP_BYTES: usize = 10;

/// The steps of one attempt at a task.
#[derive(Debug)]
pub(super) struct Steps {
    shared: Arc<TasksShared>,
    id: TaskId,
    attempt: u32,
    /// The number of the next step.
    step: u32,
    /// The number of the next entry in the journal.
    entry: u32,
    /// How many lines an earlier run has said, that this one has yet to come to.
    said_before: usize,
    /// What an earlier run has learned, by step.
    known: BTreeMap<u32, Value>,
    /// What is not in the journal yet.
    unsaid: Vec<Line>,
    learned: BTreeMap<u32, Value>,
}

// === impl Steps ===

impl Steps {
    /// From the beginning, with the journal of what earlier runs said and learned.
    pub(super) async fn begin(
        shared: Arc<TasksShared>,
        id: TaskId,
        attempt: u32,
    ) -> Result<Self, StoreError> {
        let entries = shared.store.task_entries(&shared.config.tenant, id, attempt).await?;
        let mut steps = Self::after(&entries, shared, id, attempt);
        for TaskEntry { number, said, learned } in &entries {
            steps.said_before += serde_json::from_slice::<Vec<Line>>(said).map_or(0, |lines| lines.len());
            if !learned.is_empty() {
                steps.known.extend(steps.open(*number, learned)?);
            }
        }
        Ok(steps)
    }

    /// After all that earlier runs said, whatever that was: only an end can follow.
    pub(super) async fn at_the_end(
        shared: Arc<TasksShared>,
        id: TaskId,
        attempt: u32,
    ) -> Result<Self, StoreError> {
        let entries = shared.store.task_entries(&shared.config.tenant, id, attempt).await?;
        Ok(Self::after(&entries, shared, id, attempt))
    }

    fn after(entries: &[TaskEntry], shared: Arc<TasksShared>, id: TaskId, attempt: u32) -> Self {
        Self {
            shared,
            id,
            attempt,
            step: 0,
            entry: entries.last().map_or(0, |last| last.number + 1),
            said_before: 0,
            known: BTreeMap::new(),
            unsaid: Vec::new(),
            learned: BTreeMap::new(),
        }
    }

    /// The clusters themselves, to be read.
    pub(super) fn live(&self) -> Live {
        self.shared.live.patient(LONGEST)
    }

    /// How things are deployed.
    pub(super) fn settings(&self) -> Arc<Kubernetes> {
        self.shared.config.kubernetes.clone()
    }

    /// Says something, unless an earlier run did.
    pub(super) fn say(&mut self, line: Line) {
        match self.said_before.checked_sub(1) {
            Some(left) => self.said_before = left,
            None => self.unsaid.push(line),
        }
    }

    /// Drops what is not in the journal yet.
    pub(super) fn forget_unsaid(&mut self) {
        self.unsaid.clear();
    }

    /// Learns something of a cluster, or remembers what an earlier run learned.
    pub(super) async fn learn<T: Serialize + DeserializeOwned>(
        &mut self,
        asking: impl Future<Output = Result<T, OperationError>>,
    ) -> Result<T, Halt> {
        let step = self.next();
        if let Some(known) = self.known.remove(&step)
            && let Ok(known) = serde_json::from_value(known)
        {
            return Ok(known);
        }
        let found = asking.await?;
        self.learned.insert(step, serde_json::to_value(&found).unwrap_or_default());
        Ok(found)
    }

    /// Changes something, once, however often this step is taken; the answer is always the same.
    ///
    /// What the hub itself refuses for a moment is tried again. Where that may be the last word on an id, it is tried
    /// under the next one, which is written down before: a later run must not begin with an id that came to nothing here.
    pub(super) async fn change(&mut self, account: &AccountName, verb: Verb) -> Result<Value, Halt> {
        let step = self.next();
        let mut turn = self.known.remove(&step).and_then(|turn| turn.as_u64()).unwrap_or_default();
        let give_up = Instant::now() + LONGEST;
        let mut again = Backoff::new(AGAIN);
        loop {
            self.write_down().await?;
            let id = self.operation(step, turn);
            let error = match self.shared.live.call(account, verb.clone(), Some(id), Some(LONGEST)).await {
                Ok(answer) => return Ok(answer.json()?),
                Err(error) => error,
            };
            let Some(retry) = Retry::after(error.kind).filter(|_| Instant::now() < give_up) else {
                return Err(error.into());
            };
            warn!(task = %self.id, %error, "a step of a task was not accepted, retrying");
            if retry == Retry::NewId {
                turn += 1;
                self.learned.insert(step, turn.into());
            }
            sleep(again.next()).await;
        }
    }

    /// Ends the task: with it, all that is left to say and what it leaves behind are there at once.
    pub(super) async fn end(&mut self, state: TaskState, results: &[Value]) -> Result<(), Halt> {
        let last = TaskEntry { number: self.entry, said: json(&self.unsaid), learned: Bytes::new() };
        let results = json(results);
        for attempt in 1.. {
            match self.shared.store.end_task(&self.seat(), state, &last, &results).await {
                Ok(true) => break,
                Ok(false) => return Err(Halt::Lost),
                Err(error) => self.again(attempt, &error).await?,
            }
        }
        Ok(())
    }

    /// Writes down what was said and learned, before something is changed because of it.
    async fn write_down(&mut self) -> Result<(), Halt> {
        if self.unsaid.is_empty() && self.learned.is_empty() {
            return Ok(());
        }
        let learned = if self.learned.is_empty() { Bytes::new() } else { self.seal()? };
        let entry = TaskEntry { number: self.entry, said: json(&self.unsaid), learned };
        for attempt in 1.. {
            match self.shared.store.append_task(&self.seat(), &entry).await {
                Ok(true) => break,
                Ok(false) => return Err(Halt::Lost),
                Err(error) => self.again(attempt, &error).await?,
            }
        }
        self.entry += 1;
        self.unsaid.clear();
        self.learned.clear();
        Ok(())
    }

    async fn again(&self, attempt: u32, error: &StoreError) -> Result<(), Halt> {
        warn!(task = %self.id, error = %report(error), "the journal of a task was not written");
        // What is there already was written by us, and not answered, or by an earlier life.
        if error.is_refusal() && !error.is_duplicate() {
            let message = format!("what the task said and learned cannot be written down: {}", report(error));
            return Err(Failure::illegal_state(message).into());
        }
        if attempt >= ATTEMPTS || !error.is_retryable() {
            return Err(Halt::Lost);
        }
        sleep(PAUSE).await;
        Ok(())
    }

    fn next(&mut self) -> u32 {
        self.step += 1;
        self.step - 1
    }

    fn seat(&self) -> TaskSeat<'_> {
        let config = &self.shared.config;
        TaskSeat { tenant: &config.tenant, id: self.id, attempt: self.attempt, driver: &config.hub }
    }

    /// The id of what a step asks of an agent, the first time and each time after that came to nothing.
    fn operation(&self, step: u32, turn: u64) -> OperationId {
        let again = if turn == 0 { String::new() } else { format!("/{turn}") };
        let name = format!("{}/{}/{step}{again}", self.id, self.attempt);
        let digest = digest::digest(&digest::SHA256, name.as_bytes());
        let mut bytes = [0; STEP_BYTES];
        bytes.copy_from_slice(&digest.as_ref()[..STEP_BYTES]);
        self.id.ulid().sibling(bytes)
    }

    fn place(&self, entry: u32) -> SealedItem {
        SealedItem::Learned { attempt: self.attempt, entry }
    }

    fn seal(&self) -> Result<Bytes, Halt> {
        let sealed = self.shared.vault.seal(self.id.ulid(), self.place(self.entry), &json(&self.learned));
        sealed.map_err(|failure| {
            warn!(task = %self.id, error = %report(&failure), "what a task learned could not be encrypted");
            Halt::Lost
        })
    }

    fn open(&self, entry: u32, sealed: &[u8]) -> Result<BTreeMap<u32, Value>, StoreError> {
        let opened = self.shared.vault.open(self.id.ulid(), self.place(entry), sealed);
        opened.and_then(|learned| serde_json::from_slice(&learned).ok()).ok_or(StoreError::Sealed)
    }
}

// === impl Retry ===

impl Retry {
    /// None if the error is final.
    fn after(kind: ErrorKind) -> Option<Self> {
        match (kind.allows_same_id(), kind.is_transient()) {
            (true, _) => Some(Self::SameId),
            (false, true) => Some(Self::NewId),
            (false, false) => None,
        }
    }
}

/// Lines, values and maps of them are always JSON.
fn json(value: &(impl Serialize + ?Sized)) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_alone_decides_whether_and_how_a_change_is_retried() {
        for (kind, retry) in [
            (ErrorKind::HubOverloaded, Some(Retry::SameId)),
            (ErrorKind::StoreUnavailable, Some(Retry::SameId)),
            (ErrorKind::NotRecorded, Some(Retry::SameId)),
            (ErrorKind::NotSent, Some(Retry::NewId)),
            (ErrorKind::MayHaveBeenQueued, None),
            (ErrorKind::OutcomeUnknown, None),
            (ErrorKind::NoAgent, None),
            (ErrorKind::ApiServer, None),
        ] {
            for message in ["", "the hub's store did not answer; nothing was sent; try again"] {
                let error = OperationError::hub(kind, message);
                assert_eq!(Retry::after(error.kind), retry, "{error:?}");
            }
        }
    }
}
