//! Migrates the schema to the version of this release; hubs that start together take turns.
//!
//! Hubs of two releases share one schema during an upgrade: a newer version stays as it is, and migrations only add.
//! The table `spindrift_migration` has the applied versions, without checksums: databases of earlier releases need
//! nothing when the text of a migration changes, but its statements must stay the same.

use std::time::Duration;

use sqlx::{AnyConnection, AnyPool, AssertSqlSafe, Connection};
use tracing::{info, warn};

use super::{StoreError, dialect::Dialect, row::Columns, statement::Statement};

/// Versions of the schema with the templates of their migrations, oldest first.
const MIGRATIONS: [(i64, &str); 9] = [
    (1, include_str!("../../migrations/0001_foundation.sql")),
    (2, include_str!("../../migrations/0002_session_account.sql")),
    (3, include_str!("../../migrations/0003_denied.sql")),
    (4, include_str!("../../migrations/0004_operations.sql")),
    (5, include_str!("../../migrations/0005_rows.sql")),
    (6, include_str!("../../migrations/0006_tasks.sql")),
    (7, include_str!("../../migrations/0007_session_account_by_account.sql")),
    (8, include_str!("../../migrations/0008_unserved.sql")),
    (9, include_str!("../../migrations/0009_unavailable.sql")),
];

/// Returns the versions of this release, oldest first.
pub(super) fn known() -> impl Iterator<Item = i64> {
    MIGRATIONS.iter().map(|(version, _)| *version)
}

/// Another hub's migration may take longer than a lock timeout or two.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(200);

pub(super) async fn run(dialect: Dialect, pool: &AnyPool) -> Result<(), StoreError> {
    for _ in 1..ATTEMPTS {
        match attempt(dialect, pool).await {
            Err(error) if error.is_retryable() => {
                warn!(error = &error as &dyn std::error::Error, "migration of the store failed; retrying");
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

    for (version, template) in MIGRATIONS.into_iter().filter(|(version, _)| *version > newest) {
        let text = AssertSqlSafe(dialect.render_migration(template));
        let migrated = sqlx::raw_sql(text).execute(&mut *connection).await;
        migrated.map_err(StoreError::at("migrate the schema"))?;
        Statement::new(dialect, "INSERT INTO spindrift_migration (version, applied_at) VALUES (?, {now})")
            .bind(version)
            .execute("record the migration", connection)
            .await?;
        info!(version, "schema migrated");
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

#[cfg(test)]
mod tests {
    use aws_lc_rs::digest::{SHA256, digest};

    use super::*;
    use crate::hex::hex;

    /// Statements without the white space between words and around punctuation.
    fn normalized(text: &str) -> String {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        ["(", ")", ",", ";"].into_iter().fold(text, |text, sign| {
            text.replace(&format!(" {sign}"), sign).replace(&format!("{sign} "), sign)
        })
    }

    /// Release 0.1 had one file per version and database. The checksums are those of its files, normalized, without
    /// comments.
    #[test]
    fn migrations_are_the_statements_of_release_0_1() {
        let released = [
            (
                "b985fe834400915288ad406195ae2ff9f4791e18aaa81b83bb00ce7cf6b97d7f",
                "61453ed92e0cda7a0a75445758fa214992f31e66b96867a32d6543dec4e288f0",
                "003edc31fcffa96cb5765d990e979423c8d0ca834489b35965a69950d8b84dc9",
            ),
            (
                "260bf8431f6e4b8a372bcea7dff1c203ffb821969f3a6e045954e5a9b096cb25",
                "6892aad9bffd5417190d51dcc2ba644dcf69122536ab53365af69c1672ae994c",
                "926afe158d1d58cebe03e6b40f97e73bbb72dd34e1b67bdb8d1ed28e5baa5592",
            ),
            (
                "d11cc2879a5cdf1d74ff09a05a453398da98306bfb2653e9d69fbcd5240f404b",
                "d11cc2879a5cdf1d74ff09a05a453398da98306bfb2653e9d69fbcd5240f404b",
                "d11cc2879a5cdf1d74ff09a05a453398da98306bfb2653e9d69fbcd5240f404b",
            ),
            (
                "5e3872c0ba87bf6ebc924dda3f791d19fa1f27ad6ce66359ac871718ce386f5f",
                "cf429a22a30dde05bb7c0c114733cb233ed2d1e76e397190d0bb0b1ceaa41721",
                "1b449d67c9beb8dfa1fd8ae8dc7a6f9e404b3fac1d09ccfad389ce6dec42ef2e",
            ),
            (
                "50f1902562ab5bedfe2604a5157cd15d5d115b6aa6d783d625624e5f619526b4",
                "944c2e84b8a2104252d6841f18ff1f2c6c31f79fe6fb1b12e461c119258f20aa",
                "aafb4015b021948a30aeb68e62be98c47138566a59e07893940a3722d98737b1",
            ),
            (
                "88da7a437fb153921db0bc38290a7c6dce76671547587e90334c3e2dc89a85f3",
                "8589a829904730d684a12bc30328de4fa77ef94744a25e05d3d1482539c8b1a7",
                "f5f1466cad3c7d9d9387980773d5c808232613a28bdc3e48923a6d1017707f52",
            ),
            (
                "1498aa15e2534f71e40024f7251d650e918390c5c41c465c9e8fe425411e5431",
                "1498aa15e2534f71e40024f7251d650e918390c5c41c465c9e8fe425411e5431",
                "9fad79850a2fa78d9f6e945ef0189a7caf824b98c72a6a86106c1ae65ada5e76",
            ),
        ];
        for ((version, template), (sqlite, postgres, mysql)) in MIGRATIONS.into_iter().zip(released) {
            for (dialect, checksum) in
                [(Dialect::Sqlite, sqlite), (Dialect::Postgres, postgres), (Dialect::MySql, mysql)]
            {
                let text = normalized(&dialect.render_migration(template));
                let found = hex(digest(&SHA256, text.as_bytes()).as_ref());
                assert_eq!(found, checksum, "version {version} on {dialect:?}: {text}");
            }
        }
    }
}
