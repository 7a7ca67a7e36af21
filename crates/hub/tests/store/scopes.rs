//! Declared scopes and how far they have got.

use spindrift_hub::store::ScopeProgress;
use spindrift_model::ScrubRevision;

use crate::bench::{Bench, account, declare, key, object, pod, pods, reached, scope, tenant};

#[tokio::test]
async fn a_scope_that_is_no_longer_declared_is_deleted_unless_its_group_is_unknown() -> anyhow::Result<()> {
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

#[tokio::test]
async fn a_scope_that_is_denied_keeps_its_objects_and_its_version() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let allowed = declare(&[("", "Pod", "v1"), ("", "Secret", "v1")]);
        let mut denied = allowed.clone();
        denied.denied.insert(pods(), "no ".repeat(1000));
        let cursor = bench
            .write("prod", |write| {
                write.declared = Some(allowed.clone());
                write.upserts = vec![pod("p", "1")];
                write.scopes = vec![reached(pods(), "7")];
            })
            .await?;
        let counts = async |bench: &Bench| -> anyhow::Result<_> {
            let (_, counts) = bench.store.scope_counts(&tenant()).await?.remove(0);
            Ok((counts.scopes, counts.unlisted, counts.denied))
        };
        assert_eq!(counts(&bench).await?, (2, 1, 0));

        let cursor = bench.write_at("prod", cursor, |write| write.declared = Some(denied)).await?;
        assert_eq!(counts(&bench).await?, (2, 1, 1));
        assert_eq!(bench.names("prod").await?, ["p"]);
        let [pods, secrets] = &bench.store.scopes(&tenant(), &account("prod")).await?[..] else {
            panic!("two scopes")
        };
        assert!(pods.denied.as_deref().is_some_and(|reason| reason.len() == 1000), "a long reason is cut");
        assert_eq!(pods.resource_version, Some("7".into()));
        assert_eq!(secrets.denied, None);

        bench.write_at("prod", cursor, |write| write.declared = Some(allowed)).await?;
        assert_eq!(counts(&bench).await?, (2, 1, 0));
        assert_eq!(bench.attach("prod").await?.resume_points.len(), 1, "it can be resumed");
    }
    Ok(())
}
