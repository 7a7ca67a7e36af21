//! Opening a store.

use std::{fs::Permissions, os::unix::fs::PermissionsExt, time::Duration};

use spindrift_hub::store::{Preflight, Schema, Store, StoreConfig, StoreError};
use spindrift_testkit::{Database, scratch};

use crate::bench::{Bench, hub};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn hubs_that_open_a_fresh_database_at_once_all_find_it_ready() -> anyhow::Result<()> {
    for database in Database::all().await? {
        eprintln!("on {}", database.engine());
        let config = StoreConfig::at(database.url());
        let (one, two, three) =
            tokio::join!(Store::open(&config), Store::open(&config), Store::open(&config));
        for (store, name) in [(one?, "one"), (two?, "two"), (three?, "three")] {
            store.heartbeat(&hub(name), "http://localhost").await?;
            store.close().await;
        }
        let store = Store::open(&config).await?;
        assert_eq!(store.hubs(MINUTE).await?.len(), 3);
    }
    Ok(())
}

#[tokio::test]
async fn written_rows_are_there_after_a_reopen() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let before = bench.attach("prod").await?;
        bench.store.close().await;
        let store = Store::open(&StoreConfig::at(bench.database.url())).await?;
        let bench = Bench { store, database: bench.database };
        assert_eq!(bench.attach("prod").await?.cursor.epoch, before.cursor.epoch.next());
    }
    Ok(())
}

#[tokio::test]
async fn the_files_of_an_sqlite_database_are_for_their_owner_only() -> anyhow::Result<()> {
    let directory = scratch("private")?;
    let file = directory.path().join("hub.db");
    let url = format!("sqlite://{}", file.display());
    let beside = |suffix: &str| format!("{}{suffix}", file.display());
    let modes = || {
        ["", "-wal", "-shm"].map(|suffix| {
            std::fs::metadata(beside(suffix)).map(|it| it.permissions().mode() & 0o777).unwrap_or_default()
        })
    };
    let store = Store::open(&StoreConfig::at(&url)).await?;
    assert_eq!(modes(), [0o600; 3], "created");
    // Files of an earlier release, or copied by an operator. The store stays open, so that its journals are there.
    for suffix in ["", "-wal", "-shm"] {
        std::fs::set_permissions(beside(suffix), Permissions::from_mode(0o644))?;
    }
    let second = Store::open(&StoreConfig::at(&url)).await?;
    assert_eq!(modes(), [0o600; 3], "restricted");
    second.heartbeat(&hub("a"), "http://a").await?;
    store.heartbeat(&hub("b"), "http://b").await?;
    Ok(())
}

#[tokio::test]
async fn urls_that_cannot_work_are_refused_without_showing_a_password() {
    let error = Store::open(&StoreConfig::at("oracle://me:secret@db/x")).await.expect_err("no such driver");
    assert!(matches!(&error, StoreError::Scheme { scheme } if scheme == "oracle"), "{error}");
    assert!(matches!(Store::open(&StoreConfig::at("sqlite::memory:")).await, Err(StoreError::InMemory)));
    let shown = format!("{:?}", StoreConfig::at("postgres://me:secret@db:5432/x"));
    assert!(shown.contains("postgres://db:5432/x") && !shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn hubs_are_seen_while_they_are_alive() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        bench.store.heartbeat(&hub("a"), "http://old").await?;
        bench.store.heartbeat(&hub("a"), "http://new").await?;
        let hubs = bench.store.hubs(MINUTE).await?;
        assert_eq!(hubs.iter().map(|hub| &*hub.base_url).collect::<Vec<_>>(), ["http://new"]);
        assert_eq!(bench.store.purge_hubs(MINUTE).await?, 0);
    }
    Ok(())
}

#[tokio::test]
async fn all_migrations_are_recorded_and_none_runs_twice() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let mut preflight = Preflight::open(&bench.database.url()).await?;
        let schema = preflight.schema().await?;
        assert_eq!(schema, Schema { stored: 9, known: 9, pending: 0 });
        Store::open(&StoreConfig::at(bench.database.url())).await?.close().await;
        assert_eq!(preflight.schema().await?, schema);
    }
    Ok(())
}
