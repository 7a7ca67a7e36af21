//! Brings the tables to this release's version; hubs that start together take turns.
//!
//! Hubs of two releases share one schema during an upgrade: a newer version than ours is left alone, and migrations
//! only add.

use std::time::Duration;

use sqlx::{AnyConnection, AnyPool, Connection};
use tracing::{info, warn};

use super::{StoreError, dialect::Dialect, row::Columns, statement::Statement};

struct Migration {
    version: i64,
    sqlite: &'static str,
    postgres: &'static str,
    mysql: &'static str,
}

const MIGRATIONS: [Migration; 7] = [
    Migration {
        version: 1,
        sqlite: include_str!("../../migrations/sqlite/0001_foundation.sql"),
        postgres: include_str!("../../migrations/postgres/0001_foundation.sql"),
        mysql: include_str!("../../migrations/mysql/0001_foundation.sql"),
    },
    Migration {
        version: 2,
        sqlite: include_str!("../../migrations/sqlite/0002_session_account.sql"),
        postgres: include_str!("../../migrations/postgres/0002_session_account.sql"),
        mysql: include_str!("../../migrations/mysql/0002_session_account.sql"),
    },
    Migration {
        version: 3,
        sqlite: include_str!("../../migrations/sqlite/0003_denied.sql"),
        postgres: include_str!("../../migrations/postgres/0003_denied.sql"),
        mysql: include_str!("../../migrations/mysql/0003_denied.sql"),
    },
    Migration {
        version: 4,
        sqlite: include_str!("../../migrations/sqlite/0004_operations.sql"),
        postgres: include_str!("../../migrations/postgres/0004_operations.sql"),
        mysql: include_str!("../../migrations/mysql/0004_operations.sql"),
    },
    Migration {
        version: 5,
        sqlite: include_str!("../../migrations/sqlite/0005_rows.sql"),
        postgres: include_str!("../../migrations/postgres/0005_rows.sql"),
        mysql: include_str!("../../migrations/mysql/0005_rows.sql"),
    },
    Migration {
        version: 6,
        sqlite: include_str!("../../migrations/sqlite/0006_tasks.sql"),
        postgres: include_str!("../../migrations/postgres/0006_tasks.sql"),
        mysql: include_str!("../../migrations/mysql/0006_tasks.sql"),
    },
    Migration {
        version: 7,
        sqlite: include_str!("../../migrations/sqlite/0007_session_account_by_account.sql"),
        postgres: include_str!("../../migrations/postgres/0007_session_account_by_account.sql"),
        mysql: include_str!("../../migrations/mysql/0007_session_account_by_account.sql"),
    },
];

/// The versions that this release knows, oldest first.
pub(super) fn known() -> impl Iterator<Item = i64> {
    MIGRATIONS.iter().map(|migration| migration.version)
}

/// Another hub's migration may outlast a lock timeout or two.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(200);

pub(super) async fn run(dialect: Dialect, pool: &AnyPool) -> Result<(), StoreError> {
    for _ in 1..ATTEMPTS {
        match attempt(dialect, pool).await {
            Err(error) if error.is_retryable() => {
                warn!(error = &error as &dyn std::error::Error, "migration of the store is tried again");
                tokio::time::sleep(PAUSE).await;
            }
            outcome => return outcome,
        }
    }
    attempt(dialect, pool).await
}

async fn attempt(dialect: Dialect, pool: &AnyPool) -> Result<(), StoreError> {
    // Off the pool: if anything fails, the connection ends and the lock with it.
    let connection = pool.acquire().await.map_err(StoreError::at("connect for the migration"))?;
    let mut connection = connection.detach();
    raw(dialect.lock_migration(), "lock the migration", &mut connection).await?;
    migrate(dialect, &mut connection).await?;
    raw(dialect.unlock_migration(), "unlock the migration", &mut connection).await?;
    connection.close().await.map_err(StoreError::at("close the migration's connection"))
}

async fn migrate(dialect: Dialect, connection: &mut AnyConnection) -> Result<(), StoreError> {
    let table = "CREATE TABLE IF NOT EXISTS spindrift_migration (version BIGINT NOT NULL PRIMARY KEY, \
                 applied_at BIGINT NOT NULL)";
    raw(table, "create the table of migrations", connection).await?;
    let newest =
        Statement::new(dialect, "SELECT COALESCE(MAX(version), 0) AS newest FROM spindrift_migration")
            .fetch_optional("read the schema's version", connection)
            .await?
            .map_or(Ok(0), |row| row.number("newest"))?;

    for migration in MIGRATIONS.iter().filter(|migration| migration.version > newest) {
        raw(migration.text(dialect), "migrate the schema", connection).await?;
        Statement::new(dialect, "INSERT INTO spindrift_migration (version, applied_at) VALUES (?, {now})")
            .bind(migration.version)
            .execute("record the migration", connection)
            .await?;
        info!(version = migration.version, "schema migrated");
    }
    Ok(())
}

async fn raw(
    text: &'static str,
    step: &'static str,
    connection: &mut AnyConnection,
) -> Result<(), StoreError> {
    sqlx::raw_sql(text).execute(connection).await.map(drop).map_err(StoreError::at(step))
}

// === impl Migration ===

impl Migration {
    fn text(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Sqlite => self.sqlite,
            Dialect::Postgres => self.postgres,
            Dialect::MySql => self.mysql,
        }
    }
}
