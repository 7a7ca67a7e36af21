//! Reading objects.

use spindrift_hub::store::{AccountFeed, FeedPoint, ObjectQuery, ObjectWrite, StoredObject};
use spindrift_model::TenantId;

use crate::bench::{Bench, account, key, object, pod, tenant};

fn paths(objects: &[StoredObject]) -> Vec<String> {
    objects
        .iter()
        .map(|object| format!("{}/{}/{}", object.account, object.key.kind, object.key.name))
        .collect()
}

#[tokio::test]
async fn objects_are_found_by_query_and_in_pages() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        for account in ["two", "one"] {
            bench
                .write(account, |write| {
                    write.upserts = vec![
                        pod("b", "1"),
                        pod("a", "1"),
                        object(key("apps", "Deployment", "kube-system", "d"), "1"),
                    ];
                })
                .await?;
        }
        let all = ObjectQuery { limit: 100, ..ObjectQuery::default() };
        let everything =
            ["one/Pod/a", "one/Pod/b", "one/Deployment/d", "two/Pod/a", "two/Pod/b", "two/Deployment/d"];
        assert_eq!(paths(&bench.store.objects(&all).await?), everything);

        let mut paged = Vec::new();
        let mut query = ObjectQuery { limit: 4, ..ObjectQuery::default() };
        loop {
            let page = bench.store.objects(&query).await?;
            let Some(last) = page.last() else { break };
            query.after = Some((last.account.clone(), last.key.clone()));
            paged.extend(paths(&page));
        }
        assert_eq!(paged, everything);

        let core = ObjectQuery {
            kinds: Some(vec![(String::new(), "Pod".into())]),
            name: Some("a".into()),
            ..all.clone()
        };
        assert_eq!(paths(&bench.store.objects(&core).await?), ["one/Pod/a", "two/Pod/a"]);
        let system = ObjectQuery {
            accounts: Some(vec![account("two")]),
            kinds: Some(vec![("apps".into(), "Deployment".into()), ("apps".into(), "ReplicaSet".into())]),
            namespace: Some("kube-system".into()),
            ..all.clone()
        };
        assert_eq!(paths(&bench.store.objects(&system).await?), ["two/Deployment/d"]);
        for nothing in [
            ObjectQuery { accounts: Some(vec![]), ..all.clone() },
            ObjectQuery { tenant: TenantId::parse("acme")?, ..all.clone() },
            ObjectQuery { namespace: Some("münchen".into()), ..all.clone() },
            ObjectQuery { kinds: Some(vec![("日本".into(), "Pod".into())]), ..all.clone() },
            ObjectQuery { kinds: Some(vec![]), ..all.clone() },
        ] {
            assert_eq!(bench.store.objects(&nothing).await?, [], "{nothing:?}");
        }
        let counts = bench.store.object_counts(&tenant()).await?;
        assert_eq!(counts, [(account("one"), 3), (account("two"), 3)]);
    }
    Ok(())
}

#[tokio::test]
async fn names_are_compared_by_bytes() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let names = ["A", "a", "a ", "a0", "ä", "é", "e\u{301}", "日本", "😀"];
        let role = |name: &str| object(key("rbac.authorization.k8s.io", "ClusterRole", "", name), "1");
        bench.write("prod", |write| write.upserts = names.map(role).into()).await?;
        let mut sorted = names;
        sorted.sort_unstable();
        assert_eq!(bench.names("prod").await?, sorted);
        // Accounts too.
        bench.write("PROD", |write| write.upserts = vec![pod("other", "1")]).await?;
        assert_eq!(bench.names("PROD").await?, ["other"]);
        assert_eq!(bench.names("prod").await?.len(), names.len());
    }
    Ok(())
}

#[tokio::test]
async fn keys_of_the_greatest_length_and_bodies_of_megabytes_come_back_whole() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let longest = key(&"g".repeat(253), &"K".repeat(128), &"n".repeat(63), &"日".repeat(253));
        let mut large = object(longest, "1");
        large.uid = "u".repeat(255).into();
        let noise: Vec<u8> =
            (0..350_000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        large.body = noise.into();
        large.labels = format!(r#"{{"long":"{}"}}"#, "x".repeat(100_000));
        let mut empty = pod("empty", "1");
        empty.body = bytes::Bytes::new();
        let account_name = "ö".repeat(128);
        let others = (0..5).map(|number| {
            let mut other = pod(&format!("large-{number}"), "1");
            other.body = large.body.clone();
            other
        });
        let upserts: Vec<_> = others.chain([large.clone(), empty]).collect();
        bench.write(&account_name, |write| write.upserts = upserts).await?;
        let objects = bench.objects(&account_name).await?;
        assert_eq!(objects.len(), 7);
        assert!(objects[0].body.is_empty());
        let stored = objects.last().expect("there are seven");
        assert_eq!((&stored.key, &stored.labels), (&large.key, &large.labels));
        assert!(objects[1..].iter().all(|object| object.body == large.body));
    }
    Ok(())
}

#[tokio::test]
async fn parts_of_a_page_are_bounded_in_bytes_and_complete_together() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let sizes = [100, 900, 5000, 10, 10, 10, 2000, 0];
        let pod_of = |(number, size): (usize, &usize)| {
            let body = format!(r#"{{"fill":"{}"}}"#, "x".repeat(*size)).into();
            ObjectWrite { body, ..pod(&format!("pod-{number}"), "1") }
        };
        bench.write("prod", |write| write.upserts = sizes.iter().enumerate().map(pod_of).collect()).await?;

        let mut query = ObjectQuery { limit: 100, ..ObjectQuery::default() };
        let mut parts = Vec::new();
        loop {
            let part = bench.store.objects_within(&query, 2048).await?;
            let bytes: usize = part.objects.iter().map(|object| object.body.len()).sum();
            assert!(bytes <= 2048 || part.objects.len() == 1, "{bytes} bytes");
            parts.push(part.objects.len());
            query.after = part.last;
            if !part.more {
                break;
            }
        }
        assert_eq!(parts, [2, 1, 3, 2]);

        let (tenant, account) = (TenantId::default(), account("prod"));
        let mut after = FeedPoint::default();
        let mut parts = Vec::new();
        loop {
            let feed = AccountFeed { tenant: &tenant, account: &account, after: &after };
            let part = bench.store.changes_within(&feed, 3, 2048).await?;
            parts.push(part.changes.len());
            let more = part.more;
            after = part.last.unwrap_or_default();
            if !more {
                break;
            }
        }
        // At most three rows: the last part is empty if the one before it was full.
        assert_eq!(parts.iter().sum::<usize>(), sizes.len(), "{parts:?}");
        assert!(parts.starts_with(&[2, 1, 3]), "{parts:?}");
    }
    Ok(())
}
