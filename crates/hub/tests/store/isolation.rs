//! Rows that the database refuses.

use std::time::Duration;

use spindrift_hub::store::{StoreError, WriteOutcome};
use spindrift_model::{Seq, Uid};
use spindrift_testkit::Engine;

use crate::bench::{Bench, declare, pod, pod_key, pods, reached, uid, write};

/// Refuses every row that has this value in this column.
pub(crate) fn trigger(engine: Engine, table: &str, column: &str, value: &str) -> String {
    match engine {
        Engine::Sqlite => ["INSERT", "UPDATE"]
            .map(|event| {
                format!(
                    "CREATE TRIGGER refuse_{event} BEFORE {event} ON {table} WHEN NEW.{column} = '{value}' \
                     BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END;"
                )
            })
            .concat(),
        Engine::Postgres => format!(
            "CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'refused by a trigger'; END $$ \
             LANGUAGE plpgsql; CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW \
             WHEN (NEW.{column} = '{value}') EXECUTE FUNCTION refuse()"
        ),
        Engine::MariaDb => ["INSERT", "UPDATE"]
            .map(|event| {
                format!(
                    "CREATE TRIGGER refuse_{event} BEFORE {event} ON {table} FOR EACH ROW \
                     IF NEW.{column} = '{value}' THEN SIGNAL SQLSTATE '45000' \
                     SET MESSAGE_TEXT = 'refused by a trigger'; END IF;"
                )
            })
            .concat(),
    }
}

#[tokio::test]
async fn a_refused_row_fails_its_group_and_is_left_out_alone() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        let engine = bench.announce();
        let cursor = bench
            .write("prod", |write| {
                write.declared = Some(declare(&[("", "Pod", "v1")]));
                write.upserts = vec![pod("gone", "1"), pod("cursed", "1")];
            })
            .await?;
        bench.database.execute(&trigger(engine, "spindrift_object", "name", "cursed")).await?;
        let mut batch = write("prod", cursor);
        batch.upserts = vec![pod("a", "1"), pod("cursed", "2"), pod("b", "1")];
        batch.deletes = vec![(pod_key("gone"), uid("gone")), (pod_key("cursed"), uid("cursed"))];
        batch.scopes = vec![reached(pods(), "9")];

        let error = bench.store.commit(std::slice::from_ref(&batch)).await.expect_err("a trigger refuses it");
        assert!(error.is_refusal() && !error.is_retryable(), "{error:?}");
        assert_eq!(bench.names("prod").await?, ["cursed", "gone"], "nothing of the group was written");

        let (outcome, rejected) = bench.store.commit_isolating(&batch).await?;
        assert_eq!(outcome, WriteOutcome::Committed { seq: Seq(2), changed: true });
        assert_eq!(bench.names("prod").await?, ["a", "b", "cursed"]);
        for row in &rejected {
            assert_eq!(row.key, pod_key("cursed"));
            assert!(row.reason.contains("refused by a trigger"), "{row:?}");
        }
        assert_eq!(rejected.len(), 2, "as an upsert and as a delete");
        assert_eq!(bench.attach("prod").await?.resume_points.len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn rows_that_no_column_can_hold_are_refusals() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        let engine = bench.announce();
        let mut huge = pod("huge", "1");
        huge.body = vec![b' '; 9 << 20].into();
        let mut hostile = vec![huge];
        if engine != Engine::Sqlite {
            hostile.push(pod(&"x".repeat(300), "1"));
            let mut long_version = pod("long-version", "1");
            long_version.resource_version = "9".repeat(300).into();
            hostile.push(long_version);
        }
        if engine == Engine::Postgres {
            hostile.push(pod("nul\0", "1"));
        }
        if engine == Engine::MariaDb {
            let mut foreign = pod("foreign", "1");
            foreign.key.namespace = "münchen".into();
            hostile.push(foreign);
        }
        let cursor = bench.attach("prod").await?.cursor;
        for object in &hostile {
            let mut batch = write("prod", cursor);
            batch.upserts = vec![object.clone()];
            let error = bench.store.commit(&[batch]).await.expect_err("it fits no column");
            assert!(error.is_refusal(), "{}: {error:?}", object.resource_version);
        }
        let mut batch = write("prod", cursor);
        batch.upserts = hostile.iter().cloned().chain([pod("good", "1")]).collect();
        let (_, rejected) = bench.store.commit_isolating(&batch).await?;
        assert_eq!(rejected.len(), hostile.len(), "{rejected:?}");
        assert_eq!(bench.names("prod").await?, ["good"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_stale_write_is_stale_however_it_is_written() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let old = bench.attach("prod").await?.cursor;
        bench.attach("prod").await?;
        let mut batch = write("prod", old);
        batch.upserts = vec![pod("a", "1")];
        assert_eq!(bench.store.commit_isolating(&batch).await?, (WriteOutcome::Stale, vec![]));
        assert_eq!(bench.names("prod").await?, [""; 0]);
    }
    Ok(())
}

#[tokio::test]
async fn a_row_lock_that_is_held_too_long_is_retryable() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        let engine = bench.announce();
        let cursor = bench.attach("prod").await?.cursor;
        let mut frozen = bench.database.connect().await?;
        let begin = if engine == Engine::Sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" };
        sqlx::raw_sql(begin).execute(&mut frozen).await?;
        sqlx::raw_sql("UPDATE spindrift_cursor SET seq = seq").execute(&mut frozen).await?;
        let waited = tokio::time::Instant::now();
        let error: StoreError =
            bench.store.commit(&[write("prod", cursor)]).await.expect_err("the row is locked");
        assert!(error.is_retryable() && !error.is_refusal(), "{error:?}");
        assert!(waited.elapsed() < Duration::from_secs(8), "{:?}", waited.elapsed());

        sqlx::raw_sql("ROLLBACK").execute(&mut frozen).await?;
        bench
            .write_at("prod", cursor, |write| write.deletes = vec![(pod_key("none"), Uid::from("x"))])
            .await?;
    }
    Ok(())
}
