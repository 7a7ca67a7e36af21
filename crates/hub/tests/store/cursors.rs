//! Cursors and leases.

use std::time::Duration;

use spindrift_hub::store::{AttachOutcome, AttachRequest, PreviousAgent, WriteOutcome};
use spindrift_model::{Cursor, Epoch, Seq, TenantId};
use spindrift_testkit::{Engine, eventually};

use crate::bench::{Bench, LEASE, account, agent, declare, offer, pod, pods, reached, tenant, write};

#[tokio::test]
async fn an_attachment_goes_on_where_the_last_commit_ended() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let first = bench.attach("prod").await?;
        assert_eq!(first.cursor, Cursor { epoch: Epoch(1), seq: Seq(0) });
        assert_eq!(first.resume_points, []);
        bench
            .write_at("prod", first.cursor, |write| {
                write.declared = Some(declare(&[("", "Pod", "v1"), ("apps", "Deployment", "v1")]));
                write.upserts = vec![pod("a", "1")];
                write.scopes = vec![reached(pods(), "old"), reached(pods(), "100")];
            })
            .await?;

        let second = bench.attach("prod").await?;
        assert_eq!(second.cursor, Cursor { epoch: Epoch(2), seq: Seq(1) });
        let [point] = &*second.resume_points else { panic!("{second:?}") };
        assert_eq!((&point.scope, point.resource_version.as_str()), (&pods(), "100"));
        assert!(point.age < Duration::from_mins(1), "{:?}", point.age);
    }
    Ok(())
}

#[tokio::test]
async fn writes_of_an_older_epoch_and_late_copies_are_stale() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let old = bench.attach("prod").await?.cursor;
        let new = bench.attach("prod").await?.cursor;
        let mut late = write("prod", old);
        late.upserts = vec![pod("late", "1")];
        assert_eq!(bench.store.commit(&[late]).await?, [WriteOutcome::Stale]);

        let mut batch = write("prod", new);
        batch.upserts = vec![pod("a", "1")];
        let committed = WriteOutcome::Committed { seq: Seq(1), changed: true };
        assert_eq!(bench.store.commit(std::slice::from_ref(&batch)).await?, [committed]);
        assert_eq!(bench.store.commit(&[batch]).await?, [WriteOutcome::Stale]);
        assert_eq!(bench.names("prod").await?, ["a"]);

        let nobody = write("unknown", new);
        assert_eq!(bench.store.commit(&[nobody]).await?, [WriteOutcome::Stale]);
    }
    Ok(())
}

#[tokio::test]
async fn concurrent_attachments_get_epochs_of_their_own() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let request = offer("prod", "agent");
        bench.open_session_of(&request).await?;
        let outcomes = futures::future::join_all((0..12).map(|_| bench.store.attach(&request))).await;
        let mut epochs = Vec::new();
        for outcome in outcomes {
            let AttachOutcome::Attached { attachment, .. } = outcome? else { panic!("the session is open") };
            epochs.push(attachment.cursor.epoch.0);
        }
        epochs.sort_unstable();
        assert_eq!(epochs, (1..=12).collect::<Vec<_>>());
    }
    Ok(())
}

#[tokio::test]
async fn another_agent_waits_for_the_lease_and_the_same_agent_does_not() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        bench.attach("prod").await?;
        let AttachOutcome::Busy { agent: holder, lease_left } =
            bench.attach_by(&offer("prod", "other")).await?
        else {
            panic!("the lease is alive");
        };
        assert_eq!(holder, agent("agent"));
        assert!(lease_left > LEASE / 2 && lease_left <= LEASE, "{lease_left:?}");

        let again = bench.attach("prod").await?;
        assert_eq!(again.cursor.epoch, Epoch(2));
        // Tenants have cursors of their own.
        let elsewhere = AttachRequest { tenant: TenantId::parse("acme")?, ..offer("prod", "other") };
        assert!(matches!(bench.attach_by(&elsewhere).await?, AttachOutcome::Attached { .. }));
    }
    Ok(())
}

#[tokio::test]
async fn a_lease_ends_by_time_or_by_release() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let short = AttachRequest { lease: Duration::from_millis(300), ..offer("prod", "first") };
        let AttachOutcome::Attached { attachment: first, .. } = bench.attach_by(&short).await? else {
            panic!("nobody holds it")
        };
        eventually!(
            "the lease ends",
            matches!(bench.attach_by(&offer("prod", "second")).await, Ok(AttachOutcome::Attached { .. }))
        );

        assert!(
            !bench.store.release(&tenant(), &account("prod"), first.cursor.epoch).await?,
            "not its own any more"
        );
        assert!(matches!(bench.attach_by(&offer("prod", "third")).await?, AttachOutcome::Busy { .. }));
        assert!(bench.store.release(&tenant(), &account("prod"), first.cursor.epoch.next()).await?);
        assert!(matches!(bench.attach_by(&offer("prod", "third")).await?, AttachOutcome::Attached { .. }));
    }
    Ok(())
}

#[tokio::test]
async fn a_takeover_returns_the_previous_agent_and_its_scopes() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let first = bench.attach("prod").await?;
        bench
            .write_at("prod", first.cursor, |write| write.declared = Some(declare(&[("", "Pod", "v1")])))
            .await?;
        // The lease ends after any check that another agent may have made.
        assert!(matches!(bench.attach_by(&offer("prod", "other")).await?, AttachOutcome::Busy { .. }));
        assert!(bench.store.release(&tenant(), &account("prod"), first.cursor.epoch).await?);
        let taken = bench.attach_by(&offer("prod", "other")).await?;
        let AttachOutcome::Attached { previous: Some(PreviousAgent { agent: before, scopes }), .. } = taken
        else {
            panic!("it had a holder: {taken:?}")
        };
        assert_eq!(before, agent("agent"));
        assert_eq!(scopes.iter().map(|stored| &stored.row.scope).collect::<Vec<_>>(), [&pods()]);

        let again = bench.attach_by(&offer("prod", "other")).await?;
        assert!(matches!(again, AttachOutcome::Attached { previous: None, .. }), "its own: {again:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_standby_is_answered_while_the_account_is_being_written() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        bench.attach("prod").await?;
        let standby = offer("prod", "other");
        bench.open_session_of(&standby).await?;
        // A reader that had to write would wait for this one.
        let mut writer = bench.database.connect().await?;
        let begin = if bench.database.engine() == Engine::Sqlite { "BEGIN IMMEDIATE" } else { "BEGIN" };
        for text in [begin, "UPDATE spindrift_cursor SET seq = seq + 1 WHERE account = 'prod'"] {
            sqlx::raw_sql(text).execute(&mut writer).await?;
        }
        assert!(matches!(bench.store.attach(&standby).await?, AttachOutcome::Busy { .. }));
        sqlx::raw_sql("ROLLBACK").execute(&mut writer).await?;
    }
    Ok(())
}

#[tokio::test]
async fn renewal_extends_leases_and_names_the_lost_accounts() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let kept = bench.attach("kept").await?.cursor.epoch;
        let lost = bench.attach("lost").await?.cursor.epoch;
        bench.attach("lost").await?;
        let held = [(account("kept"), kept), (account("lost"), lost), (account("never"), kept)];
        let longer = LEASE * 10;
        assert_eq!(bench.store.renew(&tenant(), &held, longer).await?, held[1..], "with their epochs");
        let AttachOutcome::Busy { lease_left, .. } = bench.attach_by(&offer("kept", "other")).await? else {
            panic!("the lease is alive");
        };
        assert!(lease_left > LEASE, "{lease_left:?}");
    }
    Ok(())
}
