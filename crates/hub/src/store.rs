//! The store: accounts, cursors, objects, sessions, hubs, operations and tasks in an SQL database.
//!
//! ```text
//! session ──announce, open_session, take_token──▶ spindrift_account, spindrift_session, spindrift_session_account
//! session ──attach──▶ spindrift_cursor (epoch + 1) ──▶ Attachment
//! ingest ─commit──▶ spindrift_cursor (seq + 1), spindrift_scope, spindrift_object, spindrift_row   in one transaction
//! rest ◀──objects, changes, positions── spindrift_object
//! rest ◀──rows, clusters── spindrift_row
//! dispatch ──insert, mark_sent, end──▶ spindrift_operation, spindrift_operation_part
//! clouddriver ──insert, append, end──▶ spindrift_task, spindrift_task_entry
//! ```
//!
//! SQLite, PostgreSQL and MariaDB are equals; all that differs between them is in [`dialect`]. The store keeps nothing
//! in memory, so any number of hubs may share one. Time is the database's own, never that of a hub.

mod config;
mod dialect;
mod error;
mod migration;
mod row;
mod statement;

mod account;
mod session;
mod session_accounts;
mod token;

mod cursor;

mod commit;
mod uid_set;
mod unavailable;

mod counts;
mod feed;
mod fingerprint;
mod object;
mod scope;

mod inventory;

mod hub;

mod operation;

mod task;

mod preflight;

use std::time::Duration;

use futures::FutureExt;
use sqlx::any::AnyPoolOptions;
use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyPool, AssertSqlSafe, Connection, Transaction};

pub use account::{AccountRow, AnnounceOutcome, Forgotten, Holder, Problem, UnservedAccount};
pub use commit::{
    AccountWrite, DeclaredScopes, ObjectWrite, Prune, RejectedRow, ScopeProgress, WriteOutcome,
};
pub use config::StoreConfig;
pub use counts::{CountedScope, Definition};
pub use cursor::{AttachOutcome, AttachRequest, PreviousAgent};
pub use error::StoreError;
pub use feed::{Change, FeedPoint, Position};
pub use hub::HubRow;
pub use inventory::{ApplicationRows, ClusterPlace, DeriveRows, DerivedRow, Rederived, RowSearch, RowState};
pub use object::{ObjectQuery, StoredObject};
pub use operation::{
    AnswerPart, Candidate, Freeze, Inserted, NewOperation, OperationEnd, OperationQuery, OperationRow,
    OperationState, Route, Seat, Step, Stepped,
};
pub use preflight::{Location, Preflight, Schema};
pub use scope::{KindRow, ScopeCounts, ScopeRow, StoredScope};
pub use session::{NewSession, SessionRow};
pub use task::{NewTask, TaskEntry, TaskId, TaskInserted, TaskRow, TaskSeat};
pub use token::{SessionInfo, TokenHash, TokenRefused};
pub use uid_set::UidSet;
pub use unavailable::UnavailableRow;

use dialect::Dialect;
use statement::Statement;

/// The database, by two pools: readers never wait for writers to hand back a connection.
#[derive(Debug, Clone)]
pub struct Store {
    dialect: Dialect,
    writers: AnyPool,
    readers: AnyPool,
}

/// Duration for which a call waits for a free connection (or for the database to come back).
const ACQUIRE: Duration = Duration::from_secs(10);

/// A connection that was used within this time is taken to be alive; asking costs a round trip per call.
const TRUSTED: Duration = Duration::from_secs(5);

// === impl Store ===

impl Store {
    /// Connects, and brings the tables to this release's version.
    pub async fn open(config: &StoreConfig) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let dialect = Dialect::of_url(&config.url)?;
        // The writers first and alone: SQLite's journal mode can only be changed by the one connection there is.
        let settings = dialect.session_settings().to_owned();
        let writers = connect(dialect, config, dialect.writers(config.writers), settings).await?;
        migration::run(dialect, &writers).await?;
        let readers = connect(dialect, config, config.readers, dialect.reader_settings()).await?;
        Ok(Self { dialect, writers, readers })
    }

    /// Makes one round trip to the database.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let mut connection = self.reader("connect to ping the database").await?;
        connection.ping().await.map_err(StoreError::at("ping the database"))
    }

    /// Waits until every connection is back and closed.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }

    fn statement(&self, text: impl Into<String>) -> Statement {
        Statement::new(self.dialect, text)
    }

    async fn begin(&self, step: &'static str) -> Result<Transaction<'static, Any>, StoreError> {
        self.writers.begin_with(self.dialect.begin()).await.map_err(StoreError::at(step))
    }

    async fn writer(&self, step: &'static str) -> Result<PoolConnection<Any>, StoreError> {
        self.writers.acquire().await.map_err(StoreError::at(step))
    }

    /// Returns a connection whose commits are on disk when they return; [`Store::relax`] takes it back.
    async fn journal(&self, step: &'static str, durable: bool) -> Result<PoolConnection<Any>, StoreError> {
        let mut connection = self.writer(step).await?;
        if let Some(setting) = self.dialect.durability(durable).filter(|_| durable) {
            sqlx::raw_sql(setting).execute(&mut *connection).await.map_err(StoreError::at(step))?;
        }
        Ok(connection)
    }

    /// Gives such a connection back. One that is dropped before only stays slower.
    async fn relax(&self, durable: bool, mut connection: PoolConnection<Any>) -> Result<(), StoreError> {
        let Some(setting) = self.dialect.durability(false).filter(|_| durable) else { return Ok(()) };
        let step = "relax a connection";
        sqlx::raw_sql(setting).execute(&mut *connection).await.map(drop).map_err(StoreError::at(step))
    }

    async fn reader(&self, step: &'static str) -> Result<PoolConnection<Any>, StoreError> {
        self.readers.acquire().await.map_err(StoreError::at(step))
    }
}

async fn connect(
    dialect: Dialect,
    config: &StoreConfig,
    connections: u32,
    settings: String,
) -> Result<AnyPool, StoreError> {
    AnyPoolOptions::new()
        .max_connections(connections.max(1))
        .acquire_timeout(ACQUIRE)
        .test_before_acquire(false)
        .before_acquire(|connection, usage| {
            async move {
                if usage.idle_for > TRUSTED {
                    connection.ping().await?;
                }
                Ok(true)
            }
            .boxed()
        })
        .after_connect(move |connection, _| {
            let settings = AssertSqlSafe(settings.clone());
            async move { sqlx::raw_sql(settings).execute(connection).await.map(drop) }.boxed()
        })
        .connect_with(config.connect_options(dialect)?)
        .await
        .map_err(StoreError::at("connect to the database"))
}
