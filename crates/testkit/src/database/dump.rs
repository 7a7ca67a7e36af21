//! All that a database stores, as bytes to search in.

use std::path::Path;

use anyhow::Context;
use sqlx::{AnyConnection, AssertSqlSafe};

use super::Engine;

/// The files below a directory: freed pages and the write-ahead log too.
pub(super) fn files(directory: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(directory).context("list the database's files")? {
        let path = entry.context("list the database's files")?.path();
        bytes.extend(std::fs::read(&path).with_context(|| format!("read {}", path.display()))?);
    }
    Ok(bytes)
}

/// Every row of every table, each value in the form in which it can be searched.
pub(super) async fn rows(engine: Engine, connection: &mut AnyConnection) -> anyhow::Result<Vec<u8>> {
    if engine == Engine::Postgres {
        // Else bytea would be printed as hexadecimal digits.
        sqlx::query("SET bytea_output = 'escape'").execute(&mut *connection).await?;
    }
    let mut bytes = Vec::new();
    for select in selects(engine, connection).await? {
        let rows: Vec<Vec<u8>> = sqlx::query_scalar(AssertSqlSafe(select.clone()))
            .fetch_all(&mut *connection)
            .await
            .with_context(|| format!("execute {select}"))?;
        for row in rows {
            bytes.extend(row);
            bytes.push(b'\n');
        }
    }
    Ok(bytes)
}

/// One statement for each table, which gives one binary value for each row.
async fn selects(engine: Engine, connection: &mut AnyConnection) -> anyhow::Result<Vec<String>> {
    let statements = match engine {
        Engine::Postgres => {
            "SELECT format('SELECT convert_to(t::text, ''UTF8'') FROM %I.%I t', schemaname, tablename)
             FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        }
        Engine::MariaDb => {
            "SELECT CONVERT(CONCAT('SELECT CONCAT_WS(0x09, ', GROUP_CONCAT('CAST(`', column_name, '` AS BINARY)'),
                    ') FROM `', table_name, '`') USING utf8mb4)
             FROM information_schema.columns WHERE table_schema = DATABASE() GROUP BY table_name"
        }
        Engine::Sqlite => anyhow::bail!("SQLite is dumped by its files"),
    };
    sqlx::query_scalar(statements).fetch_all(connection).await.context("list the tables")
}
