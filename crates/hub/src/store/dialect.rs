//! All differences between the databases.

mod migration;
mod preflight;

use std::fmt::Write as _;

use sqlx::error::DatabaseError;
use sqlx::mysql::MySqlDatabaseError;
use sqlx::postgres::PgDatabaseError;
use sqlx::sqlite::SqliteError;

use super::StoreError;

/// SQL dialect of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
    MySql,
}

/// Effect of an insert on an existing row.
pub(super) struct OnConflict {
    pub(super) table: &'static str,
    pub(super) key: &'static [&'static str],
    /// Columns that take the new value; none: the row stays as it is.
    pub(super) replaced: &'static [&'static str],
    pub(super) only_if: Option<Differs>,
}

/// A row is replaced only if one of `columns` is to change; `marker` is a replaced column whose new value is never
/// that of a row which stays.
pub(super) struct Differs {
    pub(super) columns: &'static [&'static str],
    pub(super) marker: &'static str,
}

/// Class of an error, for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorClass {
    Retryable,
    Refusal,
    Fault,
}

// === impl Dialect ===

impl Dialect {
    pub(super) fn of_url(url: &str) -> Result<Self, StoreError> {
        match url.split(':').next().unwrap_or_default() {
            "sqlite" if url.contains(":memory:") || url.contains("mode=memory") => Err(StoreError::InMemory),
            "sqlite" => Ok(Self::Sqlite),
            "postgres" | "postgresql" => Ok(Self::Postgres),
            "mysql" | "mariadb" => Ok(Self::MySql),
            scheme => Err(StoreError::Scheme { scheme: scheme.to_owned() }),
        }
    }

    /// Completes the URL: a first start needs no `mode=rwc` to create the file.
    pub(super) fn complete_url(self, url: &str) -> String {
        match self {
            Self::Sqlite if !url.contains("mode=") => {
                format!("{url}{}mode=rwc", if url.contains('?') { '&' } else { '?' })
            }
            _ => url.to_owned(),
        }
    }

    /// Number of writers. SQLite has one; our own queue for it is fair, its busy handler is not.
    pub(super) fn writers(self, wanted: u32) -> u32 {
        if self == Self::Sqlite { 1 } else { wanted }
    }

    /// Settings of a connection: a frozen hub must not hold row locks for long, nor another hub wait for them for long.
    pub(super) fn session_settings(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; \
                 PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY"
            }
            Self::Postgres => {
                "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; \
                 SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '10s'"
            }
            // Strict, or a text that is too long would be cut; the idle limit is MariaDB's alone.
            Self::MySql => {
                "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; \
                 SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'); \
                 SET SESSION innodb_lock_wait_timeout = 5 /*M!100301 , SESSION idle_transaction_timeout = 10 */"
            }
        }
    }

    /// Settings of a reading connection. SQLite caches pages for each connection, 2 MB by default: too little for a large
    /// list, and much memory for all connections together. The kernel caches the pages, too.
    pub(super) fn reader_settings(self) -> String {
        let cache = if self == Self::Sqlite { "; PRAGMA cache_size = -512" } else { "" };
        format!("{}{cache}", self.session_settings())
    }

    /// Begins a writing transaction. SQLite has to lock at once, or two of them fail instead of waiting.
    pub(super) fn begin(self) -> &'static str {
        if self == Self::Sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" }
    }

    /// Setting for commits that are on disk when they return; the other databases always wait for that.
    pub(super) fn durability(self, durable: bool) -> Option<&'static str> {
        match (self, durable) {
            (Self::Sqlite, true) => Some("PRAGMA synchronous = FULL"),
            (Self::Sqlite, false) => Some("PRAGMA synchronous = NORMAL"),
            (Self::Postgres | Self::MySql, _) => None,
        }
    }

    /// Whether the row count of an insert leaves out existing rows; MySQL's does not.
    pub(super) fn counts_inserted(self) -> bool {
        self != Self::MySql
    }

    /// Milliseconds since 1970 by the database's clock.
    fn now(self) -> &'static str {
        match self {
            Self::Sqlite => "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
            Self::Postgres => "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
            Self::MySql => "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
        }
    }

    /// Puts the clock for `{now}`, a row lock for `{for update}`, and the placeholders of this database for `?`.
    pub(super) fn render(self, text: &str) -> String {
        let text = text.replace("{now}", self.now());
        let text = text.replace("{for update}", if self == Self::Sqlite { "" } else { "FOR UPDATE" });
        if self != Self::Postgres {
            return text;
        }
        let mut rendered = String::with_capacity(text.len() * 2);
        for (number, part) in text.split('?').enumerate() {
            if number > 0 {
                write!(rendered, "${number}").expect("a string takes all that is written");
            }
            rendered.push_str(part);
        }
        rendered
    }

    /// All values of a column as one, with a separator between them; empty if there are none. Only SQLite: it passes each
    /// row from one thread to another, which costs more than all other work on a short row.
    pub(super) fn gathered(self, column: &str, separator: u8) -> Option<String> {
        (self == Self::Sqlite)
            .then(|| format!("COALESCE(CAST(GROUP_CONCAT({column}, CHAR({separator})) AS BLOB), X'')"))
    }

    /// Length of an object's body in bytes, which does not read the body.
    pub(super) fn body_length(self) -> &'static str {
        match self {
            Self::Sqlite => "LENGTH(body)",
            Self::Postgres => "CAST(OCTET_LENGTH(body) AS BIGINT)",
            Self::MySql => "CAST(LENGTH(body) AS SIGNED)",
        }
    }

    /// Function that finds a text in another.
    pub(super) fn contains(self) -> &'static str {
        if self == Self::Postgres { "STRPOS" } else { "INSTR" }
    }

    /// Returns the clause after the values of an insert.
    pub(super) fn on_conflict(self, rule: &OnConflict) -> String {
        match self {
            Self::Sqlite | Self::Postgres => rule.standard(),
            Self::MySql => rule.mysql(),
        }
    }

    /// Rows after a position in the order of `columns`, and how often each value is bound in turn.
    ///
    /// MariaDB finds no range in a comparison of rows, the others find none in its long form.
    pub(super) fn after(self, columns: &[&str]) -> (String, usize) {
        if self != Self::MySql {
            let placeholders = vec!["?"; columns.len()].join(", ");
            return (format!("({}) > ({placeholders})", columns.join(", ")), 1);
        }
        let nested = columns.iter().rev().fold(String::new(), |inner, column| {
            if inner.is_empty() {
                format!("{column} > ?")
            } else {
                format!("({column} > ? OR ({column} = ? AND {inner}))")
            }
        });
        (nested, 2)
    }
}

// === impl OnConflict ===

impl OnConflict {
    fn standard(&self) -> String {
        let Self { table, key, replaced, only_if } = self;
        let key = key.join(", ");
        if replaced.is_empty() {
            return format!(" ON CONFLICT ({key}) DO NOTHING");
        }
        let replaced: Vec<_> =
            replaced.iter().map(|column| format!("{column} = excluded.{column}")).collect();
        let mut text = format!(" ON CONFLICT ({key}) DO UPDATE SET {}", replaced.join(", "));
        if let Some(Differs { columns, marker: _ }) = only_if {
            let differs: Vec<_> =
                columns.iter().map(|column| format!("{table}.{column} <> excluded.{column}")).collect();
            write!(text, " WHERE {}", differs.join(" OR ")).expect("a string takes all that is written");
        }
        text
    }

    /// There is no WHERE here, but assignments are made from left to right: the marker first, by the condition, and
    /// all others by whether the marker is new.
    fn mysql(&self) -> String {
        let Self { table: _, key, replaced, only_if } = self;
        let assignments: Vec<_> = match only_if {
            _ if replaced.is_empty() => {
                key.iter().take(1).map(|column| format!("{column} = {column}")).collect()
            }
            None => replaced.iter().map(|column| format!("{column} = VALUES({column})")).collect(),
            Some(Differs { columns, marker }) => {
                let differs: Vec<_> =
                    columns.iter().map(|column| format!("{column} <> VALUES({column})")).collect();
                let first = format!("{marker} = IF({}, VALUES({marker}), {marker})", differs.join(" OR "));
                let others = replaced.iter().filter(|column| *column != marker);
                let others = others.map(|column| {
                    format!("{column} = IF({marker} = VALUES({marker}), VALUES({column}), {column})")
                });
                std::iter::once(first).chain(others).collect()
            }
        };
        format!(" ON DUPLICATE KEY UPDATE {}", assignments.join(", "))
    }
}

/// Classifies an error: retryable, or a refusal of the data itself.
pub(super) fn classify(error: &sqlx::Error) -> ErrorClass {
    match error {
        sqlx::Error::Database(error) => classify_reported(error.as_ref()),
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed
        // The connection is in an unknown state; the next attempt gets another one.
        | sqlx::Error::InvalidSavePointStatement
        | sqlx::Error::BeginFailed => ErrorClass::Retryable,
        sqlx::Error::Encode(_) => ErrorClass::Refusal,
        _ => ErrorClass::Fault,
    }
}

fn classify_reported(error: &dyn DatabaseError) -> ErrorClass {
    if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
        return classify_sqlstate(error.code());
    }
    if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
        return match error.number() {
            // Too many connections, shutdown, disk or table full, lock wait, deadlock, interrupted, read-only after a
            // failover, a lost connection to the storage.
            1021 | 1040 | 1053 | 1114 | 1203 | 1205 | 1213 | 1290 | 1317 | 1792 | 1836 | 1927 | 1969
            | 4031 => ErrorClass::Retryable,
            // Packet too large, text that the column's character set or length does not hold (or cannot be compared
            // with), row too large.
            1118 | 1153 | 1264 | 1267 | 1300 | 1301 | 1366 | 1406 | 1977 => ErrorClass::Refusal,
            _ => classify_sqlstate(error.code().unwrap_or_default()),
        };
    }
    if let Some(code) = sqlite_code(error) {
        return match code {
            // BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN, PROTOCOL (locks of the journal)
            5..=8 | 10 | 13..=15 => ErrorClass::Retryable,
            // TOOBIG, CONSTRAINT (which includes errors raised by triggers), MISMATCH
            18..=20 => ErrorClass::Refusal,
            _ => ErrorClass::Fault,
        };
    }
    ErrorClass::Fault
}

/// Primary result code of SQLite.
fn sqlite_code(error: &dyn DatabaseError) -> Option<i32> {
    error.try_downcast_ref::<SqliteError>()?;
    let code = error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or_default();
    // The low byte is the primary code.
    Some(code & 0xff)
}

/// Whether connections that were open at this error are closed instead of reused.
pub(super) fn leaves_connection_unusable(error: &sqlx::Error) -> bool {
    match error {
        // NOMEM, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB; servers close a connection that cannot go on.
        sqlx::Error::Database(error) => {
            matches!(sqlite_code(error.as_ref()), Some(7 | 8 | 10 | 11 | 13 | 14 | 26))
        }
        sqlx::Error::InvalidSavePointStatement | sqlx::Error::BeginFailed => true,
        _ => false,
    }
}

/// Whether the database accepts no writes, whatever they are: full, read-only, or its disk fails.
pub(super) fn is_unwritable(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
        // Disk full, I/O error, read-only transaction.
        return matches!(error.code(), "53100" | "58030" | "25006");
    }
    if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
        return matches!(error.number(), 1021 | 1114 | 1290 | 1792 | 1836);
    }
    // READONLY, IOERR, FULL, CANTOPEN
    matches!(sqlite_code(error.as_ref()), Some(8 | 10 | 13 | 14))
}

fn classify_sqlstate(code: &str) -> ErrorClass {
    match code.get(..2).unwrap_or_default() {
        // Connection, transaction state (read-only after a failover, ended for being idle), rollback (deadlock,
        // serialisation), resources (disk, memory), locks, operator, system.
        "08" | "25" | "40" | "53" | "55" | "57" | "58" => ErrorClass::Retryable,
        // Data, integrity, limits of a row, raised by a trigger (MySQL, PostgreSQL).
        "22" | "23" | "54" | "45" | "P0" => ErrorClass::Refusal,
        _ => ErrorClass::Fault,
    }
}
