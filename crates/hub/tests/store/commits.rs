//! Commits of objects.

use std::sync::Arc;

use spindrift_hub::store::{StoreError, WriteOutcome};
use spindrift_model::{Cursor, Salt, ScrubRevision, Seq};

use crate::bench::{
    Bench, account, declare, key, object, pod, pod_key, pods, prune, reached, tenant, uid, write,
};

#[tokio::test]
async fn an_unchanged_object_keeps_its_place_in_the_feed() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let cursor = bench.write("prod", |write| write.upserts = vec![pod("a", "1"), pod("b", "1")]).await?;
        let mut again = write("prod", cursor);
        again.upserts = vec![pod("a", "1"), pod("b", "1")];
        let outcomes = bench.store.commit(&[again]).await?;
        assert_eq!(outcomes, [WriteOutcome::Committed { seq: Seq(2), changed: false }]);
        assert_eq!(bench.feed("prod", 1).await?, [""; 0]);

        let mut third = write("prod", spindrift_model::Cursor { seq: Seq(2), ..cursor });
        third.upserts = vec![pod("a", "1"), pod("b", "2"), pod("c", "1")];
        let outcomes = bench.store.commit(&[third]).await?;
        assert_eq!(outcomes, [WriteOutcome::Committed { seq: Seq(3), changed: true }]);
        assert_eq!(bench.feed("prod", 2).await?, ["+b", "+c"]);
    }
    Ok(())
}

#[tokio::test]
async fn every_difference_that_counts_is_written() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        let engine = bench.announce();
        let mut cursor = bench.write("prod", |write| write.upserts = vec![pod("a", "9")]).await?;
        // A lower version is as new as a higher one: they are only compared for equality.
        let mut next = pod("a", "8");
        for change in ["version", "uid", "api version", "scrub revision", "scope", "nothing"] {
            match change {
                "uid" => next.uid = uid("another"),
                "api version" => next.api_version = "v2".into(),
                "scrub revision" => next.scrub_revision = ScrubRevision(2),
                "scope" => next.scope_namespace = Some("default".into()),
                _ => {}
            }
            next.body = format!(r#"{{"after":"{change}"}}"#).into();
            cursor = bench.write_at("prod", cursor, |write| write.upserts = vec![next.clone()]).await?;
            let stored = &bench.objects("prod").await?[0];
            assert_eq!(stored.seq == cursor.seq, change != "nothing", "{change} on {engine}");
            assert_eq!(stored.body == next.body, change != "nothing", "{change} on {engine}");
            assert_eq!(
                (&stored.uid, &stored.resource_version),
                (&next.uid, &next.resource_version),
                "{change}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_delete_needs_the_uid_and_leaves_a_tombstone() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let cursor = bench.write("prod", |write| write.upserts = vec![pod("a", "1"), pod("b", "1")]).await?;
        let cursor = bench
            .write_at("prod", cursor, |write| {
                write.deletes =
                    vec![(pod_key("a"), uid("older")), (pod_key("b"), uid("b")), (pod_key("c"), uid("c"))];
            })
            .await?;
        assert_eq!(bench.names("prod").await?, ["a"]);
        assert_eq!(bench.feed("prod", 1).await?, ["-b"]);

        let cursor =
            bench.write_at("prod", cursor, |write| write.deletes = vec![(pod_key("b"), uid("b"))]).await?;
        assert_eq!(bench.feed("prod", 2).await?, [""; 0], "a tombstone does not die twice");
        // The same object again: only the tombstone shows that it has to be written.
        bench.write_at("prod", cursor, |write| write.upserts = vec![pod("b", "1")]).await?;
        assert_eq!(bench.feed("prod", 3).await?, ["+b"]);
        assert_eq!(bench.objects("prod").await?[1].body, pod("b", "1").body);
    }
    Ok(())
}

#[tokio::test]
async fn an_object_that_is_replaced_within_a_batch_ends_as_the_last_one() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let cursor = bench.write("prod", |write| write.upserts = vec![pod("a", "1")]).await?;
        let mut young = pod("a", "3");
        young.uid = uid("young");
        bench
            .write_at("prod", cursor, |write| {
                write.upserts = vec![pod("a", "2"), young.clone()];
                write.deletes = vec![(pod_key("a"), uid("a"))];
            })
            .await?;
        let objects = bench.objects("prod").await?;
        assert_eq!(objects.iter().map(|object| &object.uid).collect::<Vec<_>>(), [&young.uid]);
    }
    Ok(())
}

#[tokio::test]
async fn a_list_that_expected_missing_objects_ends_its_attachment() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let cursor = bench
            .write("prod", |write| {
                write.declared = Some(declare(&[("", "Pod", "v1")]));
                write.upserts = vec![pod("a", "1"), pod("b", "1")];
            })
            .await?;
        let mentioned = |names: &[&str]| {
            let mut prune = prune(pods(), names);
            prune.expected = Arc::clone(&prune.keep);
            prune
        };
        let mut founded = write("prod", cursor);
        (founded.prunes, founded.scopes) = (vec![mentioned(&["a", "b"])], vec![reached(pods(), "5")]);
        let outcomes = bench.store.commit(&[founded]).await?;
        assert_eq!(outcomes, [WriteOutcome::Committed { seq: Seq(2), changed: false }]);

        let mut unfounded = write("prod", Cursor { seq: Seq(2), ..cursor });
        (unfounded.prunes, unfounded.scopes) = (vec![mentioned(&["a", "gone"])], vec![reached(pods(), "6")]);
        assert_eq!(bench.store.commit(&[unfounded]).await?, [WriteOutcome::MissingExpected { seq: Seq(3) }]);
        let mut next = write("prod", Cursor { seq: Seq(3), ..cursor });
        next.scopes = vec![reached(pods(), "7")];
        assert_eq!(bench.store.commit(&[next]).await?, [WriteOutcome::Stale], "the attachment is over");
        let again = bench.attach("prod").await?;
        assert_eq!((again.resume_points, bench.names("prod").await?), (vec![], vec!["a".to_owned()]));
    }
    Ok(())
}

#[tokio::test]
async fn fingerprints_are_those_of_the_existing_objects_of_one_scope() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let mut narrow = pod("of-another-scope", "1");
        narrow.scope_namespace = Some("default".into());
        let cursor = bench
            .write("prod", |write| {
                let deployment = object(key("apps", "Deployment", "default", "d"), "1");
                write.upserts = vec![pod("a", "1"), pod("b", "2"), pod("gone", "3"), narrow, deployment];
            })
            .await?;
        bench.write_at("prod", cursor, |write| write.deletes = vec![(pod_key("gone"), uid("gone"))]).await?;
        let salt = Salt(7);
        let read =
            async |most| bench.store.fingerprints(&tenant(), &account("prod"), &pods(), salt, most).await;
        let of = |name, version: &str| {
            salt.fingerprint(&uid(name), &version.into(), &"v1".into(), ScrubRevision(1))
        };
        assert_eq!(read(2).await?, Some(vec![of("a", "1"), of("b", "2")]));
        assert_eq!(read(1).await?, None, "there are more");
    }
    Ok(())
}

#[tokio::test]
async fn a_prune_deletes_the_objects_that_the_list_did_not_mention() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let deployment = object(key("apps", "Deployment", "default", "d"), "1");
        let mut narrow = pod("of-another-scope", "1");
        narrow.scope_namespace = Some("default".into());
        let many: Vec<_> = (0..700).map(|number| pod(&format!("pod-{number:03}"), "1")).collect();
        let cursor = bench
            .write("prod", |write| write.upserts = many.into_iter().chain([deployment, narrow]).collect())
            .await?;
        bench
            .write_at("prod", cursor, |write| {
                write.prunes = vec![prune(pods(), &["pod-007"])];
                write.upserts = vec![pod("new", "1")];
            })
            .await?;
        assert_eq!(bench.names("prod").await?, ["new", "of-another-scope", "pod-007", "d"]);
        assert_eq!(bench.feed("prod", 1).await?.len(), 700);
    }
    Ok(())
}

#[tokio::test]
async fn a_stale_account_does_not_hold_back_its_group() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let mut writes = Vec::new();
        for account in ["c", "a", "b"] {
            let mut write = write(account, bench.attach(account).await?.cursor);
            write.upserts = vec![pod("same-name", "1")];
            writes.push(write);
        }
        bench.attach("a").await?;
        let committed = WriteOutcome::Committed { seq: Seq(1), changed: true };
        assert_eq!(bench.store.commit(&writes).await?, [committed, WriteOutcome::Stale, committed]);
        assert_eq!(bench.names("a").await?, [""; 0]);
        assert_eq!(bench.names("b").await?, ["same-name"]);
        assert_eq!(bench.names("c").await?, ["same-name"]);
    }
    Ok(())
}

#[tokio::test]
async fn groups_that_share_accounts_do_not_deadlock() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let mut writes = Vec::new();
        for number in 0..20 {
            let account = format!("account-{number}");
            let mut write = write(&account, bench.attach(&account).await?.cursor);
            write.upserts = (0..20).map(|pod_number| pod(&format!("pod-{pod_number}"), "1")).collect();
            writes.push(write);
        }
        let mut reversed = writes.clone();
        reversed.reverse();
        let (one, two) = tokio::join!(bench.store.commit(&writes), bench.store.commit(&reversed));
        let stale =
            |outcomes: &[WriteOutcome]| outcomes.iter().filter(|one| **one == WriteOutcome::Stale).count();
        assert_eq!(stale(&one?) + stale(&two?), 20, "each account is written once");
    }
    Ok(())
}

#[tokio::test]
async fn two_writes_of_an_account_in_a_group_are_refused() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let twice = write("prod", bench.attach("prod").await?.cursor);
        let error = bench.store.commit(&[twice.clone(), twice]).await.expect_err("their order would be lost");
        assert!(matches!(error, StoreError::RepeatedAccount { .. }), "{error}");
    }
    Ok(())
}
