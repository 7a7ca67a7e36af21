//! Pools of connections, and the rule by which a connection is replaced.
//!
//! SQLite rolls a transaction back by itself when the disk is full or an I/O error occurs; the driver's count of open
//! transactions then stays above zero, and every later `BEGIN` on that connection fails. A connection that was opened while
//! the file system was read-only stays read-only. Neither recovers, so such connections are closed, not returned.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use parking_lot::Mutex;
use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::{AnyPool, AssertSqlSafe, Connection};
use tokio::time::Instant;

use super::StoreError;
use super::dialect::leaves_connection_unusable;

/// Duration for which a call waits for a free connection (or for the database to come back).
const ACQUIRE: Duration = Duration::from_secs(10);

/// A connection that was used within this time is taken to be alive; asking costs a round trip per call.
const TRUSTED: Duration = Duration::from_secs(5);

/// Time of the last failure after which open connections cannot be trusted.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionFailures {
    last: Arc<Mutex<Option<Instant>>>,
}

/// Connections of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolConnections {
    /// Name of the pool: `writers` or `readers`.
    pub pool: &'static str,
    /// Connections that serve a call.
    pub used: u32,
    /// Open connections that serve none.
    pub idle: u32,
    /// Largest number of connections; if all are used, calls wait.
    pub most: u32,
}

// === impl ConnectionFailures ===

impl ConnectionFailures {
    /// Converts an error of the database; connections that are open now are replaced if they cannot be trusted after it.
    pub(super) fn failed(&self, step: &'static str, source: sqlx::Error) -> StoreError {
        if leaves_connection_unusable(&source) {
            *self.last.lock() = Some(Instant::now());
        }
        StoreError::Database { step, source }
    }

    /// Options of a pool whose connections get these settings, and are replaced after such a failure.
    pub(super) fn pool(&self, connections: u32, settings: String) -> AnyPoolOptions {
        let failures = self.clone();
        AnyPoolOptions::new()
            .max_connections(connections.max(1))
            .acquire_timeout(ACQUIRE)
            .test_before_acquire(false)
            .before_acquire(move |connection, usage| {
                // A connection is pinged when it is released, so a rollback that was pending then has ended.
                let replaced = connection.is_in_transaction() || failures.is_older(usage.age);
                async move {
                    if replaced {
                        return Ok(false);
                    }
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
    }

    /// Whether a connection of this age was open at the last failure.
    fn is_older(&self, age: Duration) -> bool {
        self.last.lock().is_some_and(|failed| age >= failed.elapsed())
    }
}

pub(super) async fn connect(pool: AnyPoolOptions, options: AnyConnectOptions) -> Result<AnyPool, StoreError> {
    pool.connect_with(options).await.map_err(StoreError::at("connect to the database"))
}
