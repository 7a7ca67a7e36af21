//! The change feed.

use std::time::Duration;

use spindrift_hub::store::{FeedPoint, Position};
use spindrift_model::{Cursor, Seq};

use crate::bench::{Bench, account, key, object, pod, pod_key, sign, tenant, uid};

async fn purge_all(bench: &Bench) -> anyhow::Result<u64> {
    Ok(bench.store.purge_tombstones(Duration::ZERO).await?)
}

#[tokio::test]
async fn a_feed_is_read_in_pages_that_may_end_within_a_batch() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let cursor = bench
            .write("prod", |write| {
                write.upserts = vec![
                    pod("d", "1"),
                    pod("b", "1"),
                    pod("a", "1"),
                    object(key("apps", "Deployment", "default", "a"), "1"),
                    object(key("", "Pod", "zoo", "a"), "1"),
                ];
            })
            .await?;
        bench
            .write_at("prod", cursor, |write| {
                write.upserts = vec![pod("c", "1"), pod("b", "2")];
                write.deletes = vec![(pod_key("d"), uid("d"))];
            })
            .await?;

        let mut point = FeedPoint { seq: Seq(0), key: None };
        let mut read = Vec::new();
        loop {
            let page = bench.store.changes(&tenant(), &account("prod"), &point, 2).await?;
            let Some(last) = page.last() else { break };
            point = last.point();
            read.extend(page.iter().map(|change| format!("{}{}", sign(change), change.point().seq)));
        }
        assert_eq!(read, ["+a1", "+a1", "+a1", "+b2", "+c2", "-d2"]);
    }
    Ok(())
}

#[tokio::test]
async fn purged_tombstones_raise_the_floor_of_their_own_feed() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let positions = async || bench.store.positions(&tenant(), None).await;
        let mut cursor =
            bench.write("prod", |write| write.upserts = vec![pod("a", "1"), pod("b", "1")]).await?;
        bench.write("quiet", |write| write.upserts = vec![pod("a", "1")]).await?;
        for name in ["a", "b"] {
            cursor = bench
                .write_at("prod", cursor, |write| write.deletes = vec![(pod_key(name), uid(name))])
                .await?;
        }
        cursor = bench.write_at("prod", cursor, |write| write.upserts = vec![pod("b", "2")]).await?;

        assert_eq!(bench.store.purge_tombstones(Duration::from_hours(1)).await?, 0);
        assert_eq!(purge_all(&bench).await?, 1, "b lives again");
        assert_eq!(purge_all(&bench).await?, 0);
        let at = |seq, floor| Position { seq: Seq(seq), floor: Seq(floor) };
        assert_eq!(positions().await?, [(account("prod"), at(4, 2)), (account("quiet"), at(1, 0))]);
        assert_eq!(bench.feed("prod", 2).await?, ["+b"]);

        let Cursor { seq, .. } =
            bench.write_at("prod", cursor, |write| write.deletes = vec![(pod_key("b"), uid("b"))]).await?;
        purge_all(&bench).await?;
        let one = bench.store.positions(&tenant(), Some(&[account("prod")])).await?;
        assert_eq!(one, [(account("prod"), at(seq.0, 5))]);
        assert_eq!(bench.store.positions(&tenant(), Some(&[])).await?, []);
    }
    Ok(())
}
