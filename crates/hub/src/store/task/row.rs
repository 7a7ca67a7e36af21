//! A task as the store has it.

use std::{fmt, str::FromStr};

use bytes::Bytes;
use jiff::Timestamp;
use spindrift_model::{InvalidOperationId, OperationId};
use spindrift_spinnaker::TaskState;
use sqlx::any::AnyRow;

use crate::store::{StoreError, row::Columns};

/// Names a task: a ULID, as operations have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(OperationId);

/// A task, without its request and its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    pub id: TaskId,
    pub state: TaskState,
    /// Number of attempts before this one.
    pub attempt: u32,
    /// Owner of the task, as Spinnaker sees it.
    pub owner: String,
    pub created_at: Timestamp,
    /// Results; empty until it ends.
    pub results: Bytes,
}

pub(super) const COLUMNS: &str = "SELECT id, state, attempt, owner, created_at, results FROM spindrift_task";

const WORDS: [(TaskState, &str); 4] = [
    (TaskState::Started, "started"),
    (TaskState::Completed, "completed"),
    (TaskState::Failed, "failed"),
    (TaskState::FailedRetryable, "retryable"),
];

// === impl TaskId ===

impl TaskId {
    /// A new one.
    pub fn fresh() -> Self {
        Self(OperationId::fresh())
    }

    /// The ULID that it is.
    pub fn ulid(self) -> OperationId {
        self.0
    }

    pub(super) fn read(row: &AnyRow, column: &'static str) -> Result<Self, StoreError> {
        let text = row.text(column)?;
        text.parse().map_err(|_| StoreError::Word { column, value: text.to_owned() })
    }
}

impl FromStr for TaskId {
    type Err = InvalidOperationId;
    fn from_str(text: &str) -> Result<Self, InvalidOperationId> {
        text.parse().map(Self)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// === impl TaskRow ===

impl TaskRow {
    pub(super) fn read(row: &AnyRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: TaskId::read(row, "id")?,
            state: state(row)?,
            attempt: attempt(row)?,
            owner: row.text("owner")?.to_owned(),
            created_at: row.timestamp("created_at")?,
            results: row.bytes("results")?,
        })
    }
}

/// As it is stored.
pub(super) fn word(state: TaskState) -> &'static str {
    WORDS.iter().find(|(known, _)| *known == state).map_or("started", |(_, word)| word)
}

pub(super) fn state(row: &AnyRow) -> Result<TaskState, StoreError> {
    let word = row.text("state")?;
    let known = WORDS.iter().find(|(_, known)| *known == word);
    known.map(|(state, _)| *state).ok_or_else(|| StoreError::Word { column: "state", value: word.to_owned() })
}

pub(super) fn attempt(row: &AnyRow) -> Result<u32, StoreError> {
    let value = row.number("attempt")?;
    u32::try_from(value).map_err(|_| StoreError::Number { column: "attempt", value })
}
