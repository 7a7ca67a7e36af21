//! Steps of a run: history lines, reads and changes. Those of an earlier run are taken from the journal.

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

use super::{TasksShared, parse_list, step_error::StepError};
use crate::{
    clouddriver::{Live, RETRY},
    config::Kubernetes,
    dispatch::SealedItem,
    store::{StoreError, TaskEntry, TaskId, TaskSeat},
};

/// Deadline of a step: Clouddriver's limit for kubectl.
const STEP_DEADLINE: Duration = Duration::from_mins(10);

/// Attempts to write the journal; if the store is unavailable for longer, the task is resumed later.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// Retry of a change that was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepRetry {
    /// With the same id: the hub returns the outcome, or accepts it now.
    SameId,
    /// With the next id: this one has ended.
    NewId,
}

/// Bytes of the digest in an operation id.
const STEP_BYTES: usize = 10;

/// Steps of one attempt at a task.
#[derive(Debug)]
pub(super) struct Steps {
    shared: Arc<TasksShared>,
    id: TaskId,
    attempt: u32,
    /// Number of the next step.
    step: u32,
    /// Number of the next entry in the journal.
    entry: u32,
    /// Lines of an earlier run that this one has not reached yet.
    lines_before: usize,
    /// Results of an earlier run's reads, by step.
    journaled: BTreeMap<u32, Value>,
    /// Lines that are not in the journal yet.
    new_lines: Vec<Line>,
    /// Results of reads that are not in the journal yet.
    new_results: BTreeMap<u32, Value>,
}

// === impl Steps ===

impl Steps {
    /// Starts from the beginning, with the journal of earlier runs.
    pub(super) async fn begin(
        shared: Arc<TasksShared>,
        id: TaskId,
        attempt: u32,
    ) -> Result<Self, StoreError> {
        let entries = shared.store.task_entries(&shared.config.tenant, id, attempt).await?;
        let mut steps = Self::after(&entries, shared, id, attempt);
        for TaskEntry { number, said, learned } in &entries {
            steps.lines_before += parse_list::<Line>("said", said)?.len();
            if !learned.is_empty() {
                steps.journaled.extend(steps.open(*number, learned)?);
            }
        }
        Ok(steps)
    }

    /// Starts after all entries of earlier runs, to end the task.
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
            lines_before: 0,
            journaled: BTreeMap::new(),
            new_lines: Vec::new(),
            new_results: BTreeMap::new(),
        }
    }

    /// Live access for reads.
    pub(super) fn live(&self) -> Live {
        self.shared.live.retrying(STEP_DEADLINE)
    }

    /// Settings of deployments.
    pub(super) fn settings(&self) -> Arc<Kubernetes> {
        self.shared.config.kubernetes.clone()
    }

    /// Adds a line to the history, unless an earlier run did.
    pub(super) fn say(&mut self, line: Line) {
        match self.lines_before.checked_sub(1) {
            Some(left) => self.lines_before = left,
            None => self.new_lines.push(line),
        }
    }

    /// Drops lines that are not in the journal yet.
    pub(super) fn drop_new_lines(&mut self) {
        self.new_lines.clear();
    }

    /// Performs a read, or returns the result of an earlier run.
    pub(super) async fn read<T: Serialize + DeserializeOwned>(
        &mut self,
        reading: impl Future<Output = Result<T, OperationError>>,
    ) -> Result<T, StepError> {
        let step = self.next();
        if let Some(known) = self.journaled.remove(&step)
            && let Ok(known) = serde_json::from_value(known)
        {
            return Ok(known);
        }
        let found = reading.await?;
        self.new_results
            .insert(step, serde_json::to_value(&found).expect("results of reads have string keys"));
        Ok(found)
    }

    /// Performs a change once, however often this step runs; the response is always the same.
    ///
    /// A change that the hub does not accept for a moment is retried. If its id has ended, the next id is used, which is
    /// written to the journal before: a later run must not start with an id that has ended.
    pub(super) async fn change(&mut self, account: &AccountName, verb: Verb) -> Result<Value, StepError> {
        let step = self.next();
        let mut turn = self.journaled.remove(&step).and_then(|turn| turn.as_u64()).unwrap_or_default();
        let give_up = Instant::now() + STEP_DEADLINE;
        let mut again = Backoff::new(RETRY);
        loop {
            self.write_journal().await?;
            let id = self.operation(step, turn);
            let error =
                match self.shared.live.call(account, verb.clone(), Some(id), Some(STEP_DEADLINE)).await {
                    Ok(answer) => return Ok(answer.json()?),
                    Err(error) => error,
                };
            let Some(retry) = StepRetry::after(error.kind).filter(|_| Instant::now() < give_up) else {
                return Err(error.into());
            };
            warn!(task = %self.id, %error, "a step of a task was not accepted, retrying");
            if retry == StepRetry::NewId {
                turn += 1;
                self.new_results.insert(step, turn.into());
            }
            sleep(again.next()).await;
        }
    }

    /// Ends the task: state, results and remaining lines are written in one transaction.
    pub(super) async fn end(&mut self, state: TaskState, results: &[Value]) -> Result<(), StepError> {
        let last = TaskEntry { number: self.entry, said: json(&self.new_lines), learned: Bytes::new() };
        let results = json(results);
        for attempt in 1.. {
            match self.shared.store.end_task(&self.seat(), state, &last, &results).await {
                Ok(true) => break,
                Ok(false) => return Err(StepError::Lost),
                Err(error) => self.again(attempt, &error).await?,
            }
        }
        Ok(())
    }

    /// Writes new lines and results to the journal, before a change that depends on them.
    async fn write_journal(&mut self) -> Result<(), StepError> {
        if self.new_lines.is_empty() && self.new_results.is_empty() {
            return Ok(());
        }
        let learned = if self.new_results.is_empty() { Bytes::new() } else { self.seal()? };
        let entry = TaskEntry { number: self.entry, said: json(&self.new_lines), learned };
        for attempt in 1.. {
            match self.shared.store.append_task(&self.seat(), &entry).await {
                Ok(true) => break,
                Ok(false) => return Err(StepError::Lost),
                Err(error) => self.again(attempt, &error).await?,
            }
        }
        self.entry += 1;
        self.new_lines.clear();
        self.new_results.clear();
        Ok(())
    }

    async fn again(&self, attempt: u32, error: &StoreError) -> Result<(), StepError> {
        warn!(task = %self.id, error = %report(error), "the journal of a task could not be written");
        // A duplicate was written by this run without an acknowledgement, or by an earlier incarnation.
        if error.is_refusal() && !error.is_duplicate() {
            let message = format!("what the task said and learned cannot be written down: {}", report(error));
            return Err(Failure::illegal_state(message).into());
        }
        if attempt >= ATTEMPTS || !error.is_retryable() {
            return Err(StepError::Lost);
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

    /// Id of the operation of a step; `turn` counts the ids that have ended.
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

    fn seal(&self) -> Result<Bytes, StepError> {
        let sealed = self.shared.vault.seal(self.id.ulid(), self.place(self.entry), &json(&self.new_results));
        sealed.map_err(|failure| {
            warn!(task = %self.id, error = %report(&failure), "the journal of a task could not be encrypted");
            StepError::Lost
        })
    }

    fn open(&self, entry: u32, sealed: &[u8]) -> Result<BTreeMap<u32, Value>, StoreError> {
        let opened = self.shared.vault.open(self.id.ulid(), self.place(entry), sealed);
        opened.and_then(|learned| serde_json::from_slice(&learned).ok()).ok_or(StoreError::Sealed)
    }
}

// === impl StepRetry ===

impl StepRetry {
    /// None if the error is final.
    fn after(kind: ErrorKind) -> Option<Self> {
        match (kind.allows_same_id(), kind.is_transient()) {
            (true, _) => Some(Self::SameId),
            (false, true) => Some(Self::NewId),
            (false, false) => None,
        }
    }
}

/// Encodes history lines and journaled values.
fn json(value: &(impl Serialize + ?Sized)) -> Bytes {
    serde_json::to_vec(value).expect("lines and values have string keys").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_alone_decides_whether_and_how_a_change_is_retried() {
        for (kind, retry) in [
            (ErrorKind::HubOverloaded, Some(StepRetry::SameId)),
            (ErrorKind::StoreUnavailable, Some(StepRetry::SameId)),
            (ErrorKind::NotRecorded, Some(StepRetry::SameId)),
            (ErrorKind::NotSent, Some(StepRetry::NewId)),
            (ErrorKind::MayHaveBeenQueued, None),
            (ErrorKind::OutcomeUnknown, None),
            (ErrorKind::NoAgent, None),
            (ErrorKind::ApiServer, None),
        ] {
            for message in ["", "the hub's store did not answer; nothing was sent; try again"] {
                let error = OperationError::hub(kind, message);
                assert_eq!(StepRetry::after(error.kind), retry, "{error:?}");
            }
        }
    }
}
