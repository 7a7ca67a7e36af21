//! Accounts and the clusters they stand for.

use std::time::Duration;

use spindrift_hub::store::{AnnounceOutcome, Forgotten, NewSession, Store};
use spindrift_model::{AccountDescription, ClusterIdentity, UnavailableAccount};

use crate::bench::{Bench, account, agent, hub, pod, session_of, tenant};

fn cluster(uid: Option<&str>, ca: Option<&str>) -> ClusterIdentity {
    ClusterIdentity {
        uid: uid.map(Into::into),
        ca_fingerprint: ca.map(Into::into),
        host: "https://10.0.0.1".into(),
    }
}

fn described(name: &str, cluster: ClusterIdentity) -> AccountDescription {
    AccountDescription {
        name: account(name),
        cluster,
        kubernetes_version: "v1.36.3".into(),
        namespaces: vec!["default".into(), "kube-system".into()],
        properties: r#"{"permissions":{}}"#.into(),
        max_resumable_age: Duration::from_mins(5),
    }
}

#[tokio::test]
async fn an_account_is_stored_as_last_announced() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let mut description = described("prod", cluster(Some("1"), None));
        bench.store.announce(&tenant(), &agent("one"), &description).await?;
        description.kubernetes_version = "v1.37.0".into();
        description.namespaces.push("new".into());
        bench.store.announce(&tenant(), &agent("two"), &description).await?;
        bench.store.announce(&tenant(), &agent("one"), &described("dev", cluster(None, None))).await?;

        let row = bench.store.account(&tenant(), &account("prod")).await?.expect("it was announced");
        assert_eq!((&row.description, &row.announced_by), (&description, &agent("two")));
        assert_eq!((row.problem, row.holder, row.cursor.epoch.0), (None, None, 0));
        assert!(row.first_seen <= row.last_seen);

        let attachment = bench.attach("prod").await?;
        let rows = bench.store.accounts(&tenant()).await?;
        assert_eq!(rows.iter().map(|row| row.description.name.as_str()).collect::<Vec<_>>(), ["dev", "prod"]);
        assert_eq!(rows[1].cursor, attachment.cursor);
        let holder = rows[1].holder.as_ref().expect("it is attached");
        assert_eq!(
            (&holder.agent, &holder.hub, holder.lease_left.is_some()),
            (&agent("agent"), &hub("hub"), true)
        );
        bench.store.release(&tenant(), &account("prod"), attachment.cursor.epoch).await?;
        let row = bench.store.account(&tenant(), &account("prod")).await?.expect("it was announced");
        assert_eq!(row.holder.expect("it was attached").lease_left, None);
        assert_eq!(bench.store.account(&tenant(), &account("none")).await?, None);
    }
    Ok(())
}

#[tokio::test]
async fn a_second_cluster_is_refused_and_the_claim_is_shown() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let ours = described("prod", cluster(None, Some("ca")));
        let learnt = described("prod", cluster(Some("1"), None));
        let theirs = described("prod", cluster(Some("2"), Some("ca")));
        let announce = async |name: &str, what| bench.store.announce(&tenant(), &agent(name), what).await;
        assert_eq!(announce("one", &ours).await?, AnnounceOutcome::Accepted);
        assert_eq!(announce("one", &learnt).await?, AnnounceOutcome::Accepted);
        let bound_to = cluster(Some("1"), Some("ca"));
        assert_eq!(announce("two", &theirs).await?, AnnounceOutcome::Refused { bound_to: bound_to.clone() });

        let shown = async || {
            anyhow::Ok(bench.store.account(&tenant(), &account("prod")).await?.expect("it is bound"))
        };
        let row = shown().await?;
        assert_eq!((&row.description.cluster, &row.announced_by), (&bound_to, &agent("one")));
        let problem = row.problem.expect("the claim was refused");
        assert!(problem.agent == agent("two") && problem.text.contains("uid 2"), "{problem:?}");

        announce("one", &ours).await?;
        assert!(shown().await?.problem.is_some(), "an agent that was right all along solves nothing");
        announce("two", &learnt).await?;
        assert_eq!(shown().await?.problem, None);
    }
    Ok(())
}

#[tokio::test]
async fn of_two_clusters_that_claim_a_name_at_once_one_gets_it() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        for round in 0..5 {
            let name = format!("prod-{round}");
            let (one, two) =
                (described(&name, cluster(Some("1"), None)), described(&name, cluster(Some("2"), None)));
            let (tenant, first, second) = (tenant(), agent("one"), agent("two"));
            let (one, two) = tokio::join!(
                bench.store.announce(&tenant, &first, &one),
                bench.store.announce(&tenant, &second, &two)
            );
            assert_ne!(one? == AnnounceOutcome::Accepted, two? == AnnounceOutcome::Accepted);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_deleted_account_leaves_no_rows_and_late_batches_are_stale() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        for name in ["gone", "kept"] {
            bench
                .store
                .announce(&tenant(), &agent("agent"), &described(name, cluster(Some(name), None)))
                .await?;
        }
        bench.write("kept", |write| write.upserts = vec![pod("kept", "1")]).await?;
        let before = bench.write("gone", |write| write.upserts = vec![pod("old", "1")]).await?;
        bench.store.forget_account(&tenant(), &account("gone")).await?;

        assert_eq!(bench.store.account(&tenant(), &account("gone")).await?, None);
        assert_eq!((bench.names("gone").await?.len(), bench.names("kept").await?.len()), (0, 1));
        assert!(bench.store.scopes(&tenant(), &account("gone")).await?.is_empty());
        let late = bench.write_at("gone", before, |write| write.upserts = vec![pod("late", "2")]).await;
        assert!(late.is_err(), "a late batch was taken: {late:?}");

        let positions = bench.store.positions(&tenant(), Some(&[account("gone")])).await?;
        assert!(positions[0].1.floor > before.seq, "a reader of the old objects is not told to forget them");
        bench.write("gone", |write| write.upserts = vec![pod("new", "1")]).await?;
        assert_eq!(bench.names("gone").await?, ["new"]);
    }
    Ok(())
}

#[tokio::test]
async fn an_account_is_deleted_only_if_no_agent_serves_it() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (minute, name) = (Duration::from_mins(1), account("moved"));
        let forget = async || bench.store.forget_unserved(&tenant(), &name, minute).await;
        assert_eq!(forget().await?, Forgotten::Unknown);
        let described = described("moved", cluster(Some("1"), None));
        bench.store.announce(&tenant(), &agent("agent"), &described).await?;
        bench.write("moved", |write| write.upserts = vec![pod("old", "1")]).await?;
        let unserved = async || bench.store.unserved_accounts(&tenant(), minute).await;
        assert_eq!(unserved().await?, []);
        let is_served = async || anyhow::Ok(matches!(forget().await?, Forgotten::Served { .. }));
        assert!(is_served().await?, "it is held");
        let attachment = bench.attach("moved").await?;
        bench.store.release(&tenant(), &name, attachment.cursor.epoch).await?;
        let standing_by = NewSession { accounts: vec![name.clone()], ..session_of("other") };
        bench.store.open_session(&standing_by).await?;
        assert_eq!(forget().await?, Forgotten::Served { agent: agent("other") }, "it stands by");
        assert_eq!((unserved().await?, bench.names("moved").await?), (vec![], vec!["old".to_owned()]));
        bench.store.withdraw(&tenant(), &standing_by.id, &name).await?;
        assert_eq!(forget().await?, Forgotten::Served { agent: agent("agent") }, "it was just announced");
        assert_eq!(unserved().await?, []);
        bench.database.execute("UPDATE spindrift_account SET last_seen = 0").await?;
        assert_eq!(
            unserved().await?.into_iter().map(|it| it.name).collect::<Vec<_>>(),
            std::slice::from_ref(&name)
        );
        assert_eq!(forget().await?, Forgotten::Done);
        assert_eq!(forget().await?, Forgotten::Unknown);
        assert_eq!((bench.names("moved").await?.len(), bench.store.accounts(&tenant()).await?.len()), (0, 0));
        bench.store.announce(&tenant(), &agent("agent"), &described).await?;
        assert_eq!(bench.store.accounts(&tenant()).await?.len(), 1, "it may come back");
    }
    Ok(())
}

#[tokio::test]
async fn the_time_without_an_agent_survives_restarts_and_ends_with_an_agent() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (minute, name) = (Duration::from_mins(1), account("left"));
        let described = described("left", cluster(Some("1"), None));
        bench.store.announce(&tenant(), &agent("agent"), &described).await?;
        bench.database.execute("UPDATE spindrift_account SET last_seen = 0").await?;
        let since = async |store: &Store| {
            let found = store.unserved_accounts(&tenant(), minute).await?;
            anyhow::Ok(found.into_iter().find(|it| it.name == name).map(|it| it.unserved_for))
        };
        assert!(since(&bench.store).await?.is_some_and(|since| since < minute), "its time begins");
        bench
            .database
            .execute("UPDATE spindrift_account SET unserved_since = unserved_since - 500000")
            .await?;
        let reopened = bench.reopen().await?;
        let after = since(&reopened).await?;
        assert!(
            after.is_some_and(|since| since >= Duration::from_secs(500)),
            "a restart resets it: {after:?}"
        );

        // A session that comes and goes between two looks ends it, too.
        bench.store.announce(&tenant(), &agent("agent"), &described).await?;
        bench.database.execute("UPDATE spindrift_account SET last_seen = 0").await?;
        let again = since(&bench.store).await?;
        assert!(again.is_some_and(|since| since < minute), "its time begins again: {again:?}");
        bench.store.open_session(&NewSession { accounts: vec![name.clone()], ..session_of("agent") }).await?;
        assert_eq!(since(&bench.store).await?, None, "an agent serves it");
    }
    Ok(())
}

#[tokio::test]
async fn accounts_that_an_agent_cannot_serve_are_shown_while_it_is_connected() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let minute = Duration::from_mins(1);
        let failed =
            |name: &str, reason: &str| UnavailableAccount { name: account(name), reason: reason.into() };
        let shown = async || {
            let rows = bench.store.unavailable_accounts(&tenant(), minute).await?;
            anyhow::Ok(
                rows.into_iter()
                    .map(|row| format!("{} {} {}", row.account, row.agent, row.reason))
                    .collect::<Vec<_>>(),
            )
        };
        let open = session_of("agent");
        bench.store.open_session(&open).await?;
        let long = "x".repeat(5000);
        let all = [failed("a", "no route"), failed("b", &long)];
        bench.store.replace_unavailable(&tenant(), &open.id, &all).await?;
        assert_eq!(shown().await?[0], "a agent no route");
        assert_eq!(shown().await?[1].len(), "b agent ".len() + 2048, "it is cut to the width of its column");
        bench.database.execute("UPDATE spindrift_unavailable_account SET since = since - 90000").await?;
        let before = bench.store.unavailable_accounts(&tenant(), minute).await?[0].since;
        bench.store.replace_unavailable(&tenant(), &open.id, &[failed("a", "401")]).await?;
        assert_eq!(shown().await?, ["a agent 401"]);
        let after = bench.store.unavailable_accounts(&tenant(), minute).await?[0].since;
        assert!(after.duration_since(before).abs() < jiff::SignedDuration::from_secs(60), "{before} {after}");

        // It keeps the account of that name, which has not left.
        bench.store.announce(&tenant(), &agent("other"), &described("a", cluster(Some("1"), None))).await?;
        bench.database.execute("UPDATE spindrift_account SET last_seen = 0").await?;
        assert_eq!(bench.store.unserved_accounts(&tenant(), minute).await?, []);
        bench.store.close_session(&open.id).await?;
        assert_eq!(shown().await?, Vec::<String>::new());
        assert_eq!(bench.store.unserved_accounts(&tenant(), minute).await?.len(), 1);
    }
    Ok(())
}
