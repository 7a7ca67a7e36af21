//! Errors of the store, and whether a retry helps.

use spindrift_model::{AccountName, InvalidName};

use super::dialect::{ErrorClass, classify, is_unwritable};

/// A call that the store could not carry out; nothing of it was written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL is of no database that is supported.
    #[error("database url with scheme {scheme:?}: use sqlite, postgres or mysql")]
    Scheme { scheme: String },
    /// Readers and writers have connections of their own, which share nothing in memory.
    #[error("an SQLite database in memory cannot be shared by connections: name a file")]
    InMemory,
    /// A group may hold one write per account: their order would be lost.
    #[error("commit holds two writes of account {account}")]
    RepeatedAccount { account: AccountName },
    /// A row that no statement can carry.
    #[error("{what} of {bytes} bytes is too large for a row")]
    TooLarge { what: String, bytes: usize },
    /// The database returned an error, or did not respond.
    #[error("{step}")]
    Database { step: &'static str, source: sqlx::Error },
    /// A column does not have the expected type.
    #[error("read column {column}")]
    Column { column: &'static str, source: sqlx::Error },
    /// A stored name is none.
    #[error("read column {column}")]
    Name { column: &'static str, source: InvalidName },
    /// A stored text is not the JSON it should be.
    #[error("read column {column}")]
    Json { column: &'static str, source: serde_json::Error },
    /// The stored value was encrypted with another key.
    #[error("what is stored was encrypted by another key")]
    Sealed,
    /// A stored word has no meaning.
    #[error("column {column} holds {value:?}, which is not known")]
    Word { column: &'static str, value: String },
    /// A stored number is out of its range.
    #[error("column {column} holds {value}, which is out of range")]
    Number { column: &'static str, value: i64 },
}

// === impl StoreError ===

impl StoreError {
    /// Whether the same call may succeed later: the connection was lost, a lock was held, the disk is full.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Database { source, .. } if classify(source) == ErrorClass::Retryable)
    }

    /// Whether the database accepts no writes at all: it is full or read-only, or its disk fails.
    pub fn is_unwritable(&self) -> bool {
        matches!(self, Self::Database { source, .. } if is_unwritable(source))
    }

    /// Whether there is such a row already.
    pub fn is_duplicate(&self) -> bool {
        matches!(self, Self::Database { source: sqlx::Error::Database(error), .. } if error.is_unique_violation())
    }

    /// Whether the data itself is refused: the same call will always fail, others need not.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::TooLarge { .. } => true,
            Self::Database { source, .. } => classify(source) == ErrorClass::Refusal,
            _ => false,
        }
    }

    pub(super) fn at(step: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| Self::Database { step, source }
    }

    /// The hub stops, and does no such thing any more.
    pub(crate) fn stopping(step: &'static str) -> Self {
        Self::Database { step, source: sqlx::Error::PoolClosed }
    }

    /// The database's own words.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Database { source: sqlx::Error::Database(error), .. } => error.message().to_owned(),
            other => other.to_string(),
        }
    }
}
