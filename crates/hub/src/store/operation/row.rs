//! An operation as the store has it.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use spindrift_model::{AccountName, Content, Ending, HubId, OperationError, OperationId, Outcome};
use sqlx::any::AnyRow;

use super::Seat;
use crate::store::{StoreError, row::Columns};

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationState {
    Queued,
    Sent,
    Completed,
    Failed,
    Unknown,
    Cancelled,
    Expired,
}

/// An operation as the store has it, without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationRow {
    pub id: OperationId,
    pub account: AccountName,
    pub verb: String,
    pub target: String,
    pub mutation: bool,
    pub digest: String,
    pub state: OperationState,
    /// The hub that carries it on.
    pub driver: HubId,
    pub cancelling: bool,
    pub created_at: Timestamp,
    /// Negative once the deadline has passed.
    pub time_left_ms: i64,
    pub received_by: HubId,
    pub sent: Option<(Timestamp, HubId, Seat)>,
    pub answered: Option<(Timestamp, HubId)>,
    pub ended_at: Option<Timestamp>,
    pub took: Duration,
    /// The HTTP status that it ended with; 0 if with none.
    pub code: u16,
    pub content: Content,
    /// Length of the stored result; none if none is stored.
    pub answer_bytes: Option<u64>,
    /// Why the outcome is unknown; of a failed operation, the kind of its error. Hubs before 0.2 stored no kind.
    pub reason: String,
    /// The `Status` that it failed with.
    pub status: Bytes,
}

// === impl OperationRow ===

impl OperationRow {
    pub(super) fn read(row: &AnyRow) -> Result<Self, StoreError> {
        let id = row.text("id")?;
        let state = row.text("state")?;
        let sent = if row.number("sent_at")? == 0 {
            None
        } else {
            let seat = Seat { agent: row.name("agent_id")?, incarnation: row.name("incarnation")? };
            Some((row.timestamp("sent_at")?, row.name("sent_by")?, seat))
        };
        let answered = if row.number("answered_at")? == 0 {
            None
        } else {
            Some((row.timestamp("answered_at")?, row.name("answered_to")?))
        };
        let code = row.number("code")?;
        Ok(Self {
            id: id.parse().map_err(|_| StoreError::Word { column: "id", value: id.to_owned() })?,
            account: row.name("account")?,
            verb: row.text("verb")?.to_owned(),
            target: row.text("target")?.to_owned(),
            mutation: row.number("mutation")? != 0,
            digest: row.text("digest")?.to_owned(),
            state: OperationState::parse(state)
                .ok_or_else(|| StoreError::Word { column: "state", value: state.to_owned() })?,
            driver: row.name("driver")?,
            cancelling: row.number("cancelling")? != 0,
            created_at: row.timestamp("created_at")?,
            time_left_ms: row.number("time_left")?,
            received_by: row.name("received_by")?,
            sent,
            answered,
            ended_at: if row.number("ended_at")? == 0 { None } else { Some(row.timestamp("ended_at")?) },
            took: row.duration("took_ms")?,
            code: u16::try_from(code).map_err(|_| StoreError::Number { column: "code", value: code })?,
            content: content_of(row.number("content")?),
            answer_bytes: u64::try_from(row.number("answer_bytes")?).ok(),
            reason: row.text("reason")?.to_owned(),
            status: row.bytes("status")?,
        })
    }

    /// Time left until the deadline.
    pub fn time_left(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.time_left_ms).unwrap_or_default())
    }

    /// Outcome, if it has ended.
    pub fn ending(&self) -> Option<Ending> {
        let outcome = match self.state {
            OperationState::Queued | OperationState::Sent => return None,
            OperationState::Completed => Outcome::Succeeded { code: self.code },
            OperationState::Failed => {
                OperationError::received(&self.reason, self.code, self.status.clone()).into()
            }
            OperationState::Unknown => OperationError::unknown(&self.reason).into(),
            OperationState::Cancelled => OperationError::cancelled().into(),
            OperationState::Expired => OperationError::deadline_exceeded().into(),
        };
        Some(Ending { outcome, took: self.took })
    }
}

// === impl OperationState ===

impl OperationState {
    const ALL: [Self; 7] = [
        Self::Queued,
        Self::Sent,
        Self::Completed,
        Self::Failed,
        Self::Unknown,
        Self::Cancelled,
        Self::Expired,
    ];

    /// As it is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// The state of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }
}

pub(super) fn number_of(content: Content) -> i64 {
    match content {
        Content::Json => 0,
        Content::JsonLines => 1,
        Content::Text => 2,
    }
}

fn content_of(number: i64) -> Content {
    match number {
        1 => Content::JsonLines,
        2 => Content::Text,
        _ => Content::Json,
    }
}
