//! Declared scopes and how far they have got.

use spindrift_hub::store::ScopeProgress;
use spindrift_model::ScrubRevision;

use crate::bench::{Bench, account, declare, key, object, pod, pods, reached, scope, tenant};

#[tokio::test]
async fn what_is_not_declared_any_more_goes_unless_its_group_is_unknown() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let everything = [("", "Pod", "v1"), ("apps", "Deployment", "v1"), ("example.com", "Widget", "v1")];
        let cursor = bench
            .write("prod", |write| {
                write.declared = Some(declare(&everything));
                write.upserts = vec![
                    pod("p", "1"),
                    object(key("apps", "Deployment", "default", "d"), "1"),
                    object(key("example.com", "Widget", "default", "w"), "1"),
                ];
                write.scopes = vec![reached(pods(), "5"), reached(scope("example.com", "Widget"), "5")];
            })
            .await?;
        let mut declaration = declare(&[("", "Pod", "v1")]);
        declaration.keep_groups = vec!["example.com".into()];
        let cursor = bench.write_at("prod", cursor, |write| write.declared = Some(declaration)).await?;
        assert_eq!(bench.names("prod").await?, ["p", "w"]);
        assert_eq!(bench.feed("prod", 1).await?, ["-d"]);
        assert_eq!(
            bench.attach("prod").await?.resume_points.len(),
            2,
            "what is declared as before is resumed"
        );

        let cursor = spindrift_model::Cursor { epoch: cursor.epoch.next(), ..cursor };
        bench.write_at("prod", cursor, |write| write.declared = Some(declare(&[("", "Pod", "v1")]))).await?;
        assert_eq!(bench.names("prod").await?, ["p"]);
        let kept = bench.store.scopes(&tenant(), &account("prod")).await?;
        assert_eq!(kept.iter().map(|stored| &*stored.row.plural).collect::<Vec<_>>(), ["pods"]);
    }
    Ok(())
}

#[tokio::test]
async fn a_scope_that_is_read_or_scrubbed_in_another_way_is_listed_again() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let first = declare(&[("", "Pod", "v1")]);
        let newer_version = declare(&[("", "Pod", "v2")]);
        let mut other_rules = newer_version.clone();
        other_rules.scopes[0].scrub_revision = ScrubRevision(2);
        for (before, after, resumable) in
            [(&first, &first, 1), (&first, &newer_version, 0), (&newer_version, &other_rules, 0)]
        {
            let cursor = bench
                .write("prod", |write| {
                    write.declared = Some(before.clone());
                    write.scopes = vec![reached(pods(), "7")];
                })
                .await?;
            bench.write_at("prod", cursor, |write| write.declared = Some(after.clone())).await?;
            assert_eq!(bench.attach("prod").await?.resume_points.len(), resumable, "{after:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_scope_cannot_be_resumed_while_it_is_listed() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let cursor = bench
            .write("prod", |write| {
                write.declared = Some(declare(&[("", "Pod", "v1")]));
                write.scopes = vec![reached(pods(), "7")];
            })
            .await?;
        let begin = ScopeProgress { scope: pods(), resource_version: None };
        bench.write_at("prod", cursor, |write| write.scopes = vec![begin]).await?;
        assert_eq!(bench.attach("prod").await?.resume_points, []);
        let [stored] = &*bench.store.scopes(&tenant(), &account("prod")).await? else { panic!("one scope") };
        assert_eq!(
            (&stored.row, &stored.resource_version),
            (&declare(&[("", "Pod", "v1")]).scopes[0], &None)
        );
    }
    Ok(())
}
