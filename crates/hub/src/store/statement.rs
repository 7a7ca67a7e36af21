//! One SQL statement: text with `?`, and its bound values.

use std::time::Duration;

use futures::TryStreamExt;
use futures::stream::BoxStream;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, Arguments, AssertSqlSafe};

use super::connections::ConnectionFailures;
use super::dialect::Dialect;
use super::{StoreError, row::millis};

/// A statement in the making. Only texts of this crate become part of it; all else is bound.
pub(super) struct Statement {
    dialect: Dialect,
    text: String,
    arguments: AnyArguments,
    persistent: bool,
    failures: ConnectionFailures,
}

/// The types of columns.
pub(super) enum Value<'a> {
    Text(&'a str),
    Number(i64),
    Bytes(&'a [u8]),
}

// === impl Statement ===

impl Statement {
    pub(super) fn new(dialect: Dialect, text: impl Into<String>) -> Self {
        let (arguments, failures) = (AnyArguments::default(), ConnectionFailures::default());
        Self { dialect, text: text.into(), arguments, persistent: true, failures }
    }

    /// Reports failures after which connections are replaced.
    pub(super) fn observed_by(mut self, failures: &ConnectionFailures) -> Self {
        self.failures = failures.clone();
        self
    }

    pub(super) fn push(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self
    }

    pub(super) fn bind<'a>(mut self, value: impl Into<Value<'a>>) -> Self {
        // Never an `Arc<str>`: the SQLite driver panics on it (sqlx 0.9.0, `map_arguments`).
        match value.into() {
            Value::Text(text) => self.arguments.add(text),
            Value::Number(number) => self.arguments.add(number),
            Value::Bytes(bytes) => self.arguments.add(bytes),
        }
        .expect("texts, numbers and bytes are always encoded");
        self
    }

    /// ` AND` the rows after a position in the order of the columns.
    pub(super) fn and_after(self, position: &[(&str, Value<'_>)]) -> Self {
        let columns: Vec<_> = position.iter().map(|(column, _)| *column).collect();
        let (text, repeats) = self.dialect.after(&columns);
        let last = position.len().saturating_sub(1);
        let mut statement = self.push(" AND ").push(&text);
        for (index, (_, value)) in position.iter().enumerate() {
            for _ in 0..if index == last { 1 } else { repeats } {
                statement = statement.bind(value);
            }
        }
        statement
    }

    /// For texts of many shapes, which would only displace others from the connection's cache.
    pub(super) fn unprepared(mut self) -> Self {
        self.persistent = false;
        self
    }

    /// The number of rows that were changed (for MySQL: matched).
    pub(super) async fn execute(
        self,
        step: &'static str,
        connection: &mut AnyConnection,
    ) -> Result<u64, StoreError> {
        let (query, failures) = self.query();
        let result = query.execute(connection).await.map_err(|error| failures.failed(step, error))?;
        Ok(result.rows_affected())
    }

    pub(super) async fn fetch_all(
        self,
        step: &'static str,
        connection: &mut AnyConnection,
    ) -> Result<Vec<AnyRow>, StoreError> {
        let (query, failures) = self.query();
        query.fetch_all(connection).await.map_err(|error| failures.failed(step, error))
    }

    pub(super) async fn fetch_optional(
        self,
        step: &'static str,
        connection: &mut AnyConnection,
    ) -> Result<Option<AnyRow>, StoreError> {
        let (query, failures) = self.query();
        query.fetch_optional(connection).await.map_err(|error| failures.failed(step, error))
    }

    pub(super) fn fetch<'c>(
        self,
        step: &'static str,
        connection: &'c mut AnyConnection,
    ) -> BoxStream<'c, Result<AnyRow, StoreError>> {
        let (query, failures) = self.query();
        Box::pin(query.fetch(connection).map_err(move |error| failures.failed(step, error)))
    }

    fn query(self) -> (Query<'static, Any, AnyArguments>, ConnectionFailures) {
        let Self { dialect, text, arguments, persistent, failures } = self;
        let query = sqlx::query_with(AssertSqlSafe(dialect.render(&text)), arguments).persistent(persistent);
        (query, failures)
    }
}

// === impl Value ===

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Bytes(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Number(value)
    }
}

impl From<u64> for Value<'_> {
    /// No counter of ours ever gets that far; a forged one then matches nothing.
    fn from(value: u64) -> Self {
        Self::Number(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<Duration> for Value<'_> {
    fn from(value: Duration) -> Self {
        Self::Number(millis(value))
    }
}

impl<'a> From<&Value<'a>> for Value<'a> {
    fn from(value: &Value<'a>) -> Self {
        match *value {
            Self::Text(text) => Self::Text(text),
            Self::Number(number) => Self::Number(number),
            Self::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}
