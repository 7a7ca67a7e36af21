//! All three databases work, and fail on demand.

use std::time::Duration;

use spindrift_testkit::{Database, Engine, eventually};
use sqlx::{Connection, Row};

#[tokio::test]
async fn value_comes_back_from_each_database() -> anyhow::Result<()> {
    for database in Database::all().await? {
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR(40))").await?;
        database.execute("INSERT INTO t VALUES (1, 'Grüße')").await?;
        let mut connection = database.connect().await?;
        let row = sqlx::query("SELECT id, name FROM t").fetch_one(&mut connection).await?;
        assert_eq!(row.try_get::<i32, _>("id")?, 1, "{}", database.engine());
        assert_eq!(row.try_get::<String, _>("name")?, "Grüße", "{}", database.engine());
        connection.close().await?;
    }
    Ok(())
}

#[tokio::test]
async fn databases_on_one_server_are_apart() -> anyhow::Result<()> {
    let (first, second) = (Database::postgres().await?, Database::postgres().await?);
    first.execute("CREATE TABLE t (id INTEGER)").await?;
    second.execute("CREATE TABLE t (id INTEGER)").await?;
    assert_ne!(first.url(), second.url());
    Ok(())
}

#[tokio::test]
async fn dump_contains_texts_and_binaries() -> anyhow::Result<()> {
    for database in Database::all().await? {
        let binary = if database.engine() == Engine::Postgres { "BYTEA" } else { "BLOB" };
        database.execute(&format!("CREATE TABLE a (id INTEGER, body {binary}, note TEXT)")).await?;
        database.execute("CREATE TABLE b (note TEXT)").await?;
        database.execute("INSERT INTO a VALUES (7, 'binary canary', NULL), (8, NULL, 'text canary')").await?;
        database.execute("INSERT INTO b VALUES ('another canary')").await?;
        let dump = String::from_utf8_lossy(&database.dump().await?).into_owned();
        for canary in ["binary canary", "text canary", "another canary"] {
            assert!(dump.contains(canary), "{} lacks {canary:?}: {dump}", database.engine());
        }
        assert!(!dump.contains("no canary"));
    }
    Ok(())
}

#[tokio::test]
async fn stopped_postgres_comes_back_with_its_data() -> anyhow::Result<()> {
    stops_and_starts(&Database::postgres_dedicated().await?).await
}

#[tokio::test]
async fn stopped_mariadb_comes_back_with_its_data() -> anyhow::Result<()> {
    stops_and_starts(&Database::mariadb_dedicated().await?).await
}

#[tokio::test]
async fn frozen_postgres_goes_on_after_thaw() -> anyhow::Result<()> {
    freezes_and_thaws(&Database::postgres_dedicated().await?).await
}

#[tokio::test]
async fn frozen_mariadb_goes_on_after_thaw() -> anyhow::Result<()> {
    freezes_and_thaws(&Database::mariadb_dedicated().await?).await
}

#[tokio::test]
async fn shared_server_cannot_be_stopped() -> anyhow::Result<()> {
    let error = Database::postgres().await?.stop().await.expect_err("others use it");
    assert!(error.to_string().contains("dedicated"), "{error}");
    Ok(())
}

async fn stops_and_starts(database: &Database) -> anyhow::Result<()> {
    database.execute("CREATE TABLE t (id INTEGER)").await?;
    database.execute("INSERT INTO t VALUES (1)").await?;
    database.stop().await?;
    assert!(database.connect().await.is_err(), "a stopped server accepted a connection");
    database.start().await?;
    let mut connection = eventually!("the server accepts connections", database.connect().await);
    let row = sqlx::query("SELECT id FROM t").fetch_one(&mut connection).await?;
    assert_eq!(row.try_get::<i32, _>("id")?, 1);
    Ok(())
}

async fn freezes_and_thaws(database: &Database) -> anyhow::Result<()> {
    let mut connection = database.connect().await?;
    database.freeze()?;
    let query = sqlx::query("SELECT 1").execute(&mut connection);
    tokio::pin!(query);
    let while_frozen = tokio::time::timeout(Duration::from_millis(300), &mut query).await;
    assert!(while_frozen.is_err(), "a frozen server answered");
    database.thaw()?;
    query.await?;
    Ok(())
}
