//! A disk that is full, read-only or broken: the store fails, and works again when the disk does.

use spindrift_hub::store::{AccountWrite, ObjectWrite, Store, StoreConfig, StoreError, WriteOutcome};
use spindrift_model::Cursor;
use spindrift_process::report;
use spindrift_testkit::{Database, PATIENCE, SmallDisk, eventually};

use crate::bench::{Bench, hub, pod, write};

const MIB: u64 = 1 << 20;

/// A store on a disk of 16 MiB, and the cursor of an account.
async fn on_disk(disk: &SmallDisk) -> anyhow::Result<(Bench, Cursor)> {
    let database = Database::sqlite_on(disk)?;
    let store = Store::open(&StoreConfig { readers: 2, ..StoreConfig::at(database.url()) }).await?;
    let bench = Bench { database, store };
    let cursor = bench.write("prod", |write| write.upserts = vec![pod("first", "1")]).await?;
    Ok((bench, cursor))
}

/// A batch of 2 MiB.
fn large(cursor: Cursor) -> AccountWrite {
    let mut batch = write("prod", cursor);
    let body = format!(r#"{{"fill":"{}"}}"#, "x".repeat(128 << 10));
    let object = |number| ObjectWrite { body: body.clone().into(), ..pod(&format!("large-{number}"), "1") };
    batch.upserts = (0..16).map(object).collect();
    batch
}

async fn failure(store: &Store, batch: &AccountWrite) -> StoreError {
    eventually("a commit fails", PATIENCE, || async {
        match store.commit(std::slice::from_ref(batch)).await {
            Ok(outcome) => anyhow::bail!("{outcome:?}"),
            Err(error) => Ok(error),
        }
    })
    .await
}

async fn committed(store: &Store, batch: &AccountWrite) -> anyhow::Result<()> {
    let outcome = store.commit(std::slice::from_ref(batch)).await?;
    anyhow::ensure!(matches!(outcome.as_slice(), [WriteOutcome::Committed { .. }]), "{outcome:?}");
    Ok(())
}

#[tokio::test]
async fn a_store_on_a_full_disk_commits_again_once_there_is_room() -> anyhow::Result<()> {
    let disk = SmallDisk::mount(16 * MIB)?;
    let (bench, cursor) = on_disk(&disk).await?;
    disk.fill()?;
    let batch = large(cursor);
    // More than once: the first failure is that of the disk, further ones may be those of the connection.
    for _ in 0..3 {
        let error = failure(&bench.store, &batch).await;
        assert!(error.is_retryable() && error.is_unwritable(), "{error:?}");
        assert!(report(&error).contains("disk is full"), "{}", report(&error));
    }
    disk.free()?;
    committed(&bench.store, &batch).await?;
    bench.store.heartbeat(&hub("a"), "http://a").await?;
    assert_eq!(bench.names("prod").await?.len(), 17);
    Ok(())
}

#[tokio::test]
async fn a_writer_opened_on_a_read_only_disk_is_replaced_once_it_is_writable() -> anyhow::Result<()> {
    let disk = SmallDisk::mount(16 * MIB)?;
    let (bench, cursor) = on_disk(&disk).await?;
    let batch = large(cursor);
    // The writer is replaced after the failure, and the next one is opened on a read-only disk.
    disk.fill()?;
    failure(&bench.store, &batch).await;
    disk.free()?;
    disk.read_only()?;
    for _ in 0..3 {
        let error = failure(&bench.store, &batch).await;
        assert!(error.is_retryable(), "{error:?}");
    }
    disk.writable()?;
    committed(&bench.store, &batch).await?;
    assert_eq!(bench.names("prod").await?.len(), 17);
    Ok(())
}
