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
mod connections;
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
mod measure;
mod object;
mod scope;

mod inventory;

mod hub;
mod write_probe;

mod operation;

mod task;

mod preflight;
mod private_files;

use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyPool, Connection, Transaction};

pub use account::{AccountRow, AnnounceOutcome, Forgotten, Holder, Problem, UnservedAccount};
pub use commit::{
    AccountWrite, DeclaredScopes, ObjectWrite, Prune, RejectedRow, ScopeProgress, WriteOutcome,
};
pub use config::StoreConfig;
pub use connections::PoolConnections;
pub use counts::{CountedScope, Definition};
pub use cursor::{AttachOutcome, AttachRequest, PreviousAgent};
pub use error::StoreError;
pub use feed::{AccountFeed, Change, ChangeChunk, FeedPoint, Position};
pub use hub::HubRow;
pub use inventory::{ApplicationRows, ClusterPlace, DeriveRows, DerivedRow, Rederived, RowSearch, RowState};
pub use object::{ObjectChunk, ObjectQuery, StoredObject, UnreadableObject};
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
pub use write_probe::WriteProbe;

use connections::{ConnectionFailures, connect};
use dialect::Dialect;
use statement::Statement;

/// The database, by two pools: readers never wait for writers to hand back a connection.
#[derive(Debug, Clone)]
pub struct Store {
    dialect: Dialect,
    writers: AnyPool,
    readers: AnyPool,
    failures: ConnectionFailures,
}

// === impl Store ===

impl Store {
    /// Connects, and brings the tables to this release's version.
    pub async fn open(config: &StoreConfig) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let dialect = Dialect::of_url(&config.url)?;
        private_files::restrict(&config.url)?;
        // The writers first and alone: SQLite's journal mode can only be changed by the one connection there is.
        let settings = dialect.session_settings().to_owned();
        let failures = ConnectionFailures::default();
        let options = config.connect_options(dialect)?;
        let writers = failures.pool(dialect.writers(config.writers), settings);
        let writers = connect(writers, options.clone()).await?;
        migration::run(dialect, &writers).await?;
        let readers = failures.pool(config.readers, dialect.reader_settings());
        let readers = connect(readers, options).await?;
        Ok(Self { dialect, writers, readers, failures })
    }

    /// Makes one round trip to the database.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let mut connection = self.reader("connect to ping the database").await?;
        connection.ping().await.map_err(StoreError::at("ping the database"))
    }

    /// Counts the connections of each pool.
    pub fn connections(&self) -> [PoolConnections; 2] {
        [("writers", &self.writers), ("readers", &self.readers)].map(|(pool, connections)| {
            let (open, idle) =
                (connections.size(), u32::try_from(connections.num_idle()).unwrap_or(u32::MAX));
            let most = connections.options().get_max_connections();
            PoolConnections { pool, used: open.saturating_sub(idle), idle, most }
        })
    }

    /// Waits until every connection is back and closed.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }

    fn statement(&self, text: impl Into<String>) -> Statement {
        Statement::new(self.dialect, text).observed_by(&self.failures)
    }

    async fn begin(&self, step: &'static str) -> Result<Transaction<'static, Any>, StoreError> {
        self.writers.begin_with(self.dialect.begin()).await.map_err(|error| self.failures.failed(step, error))
    }

    /// Commits a transaction. One whose commit fails is rolled back; if that fails too, its connection is replaced.
    async fn commit_transaction(
        &self,
        transaction: Transaction<'_, Any>,
        step: &'static str,
    ) -> Result<(), StoreError> {
        transaction.commit().await.map_err(|error| self.failures.failed(step, error))
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
