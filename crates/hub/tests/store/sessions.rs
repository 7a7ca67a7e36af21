//! Sessions and the tokens of their channels.

use std::time::Duration;

use jiff::Timestamp;
use spindrift_hub::store::{
    AttachOutcome, AttachRequest, NewSession, SessionInfo, TokenRefused, WriteOutcome,
};
use spindrift_model::{Incarnation, SessionId};
use spindrift_protocol::Channel;
use spindrift_testkit::eventually;

use crate::bench::{Bench, account, agent, hub, offer, session_of, tenant, token, write};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_token_opens_its_own_channel_once() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (ours, theirs) = (session_of("one"), session_of("two"));
        bench.store.open_session(&ours).await?;
        bench.store.open_session(&theirs).await?;
        let take = async |channel, token: Vec<u8>| {
            bench.store.take_token(&ours.id, channel, &token, &hub("hub")).await
        };

        assert_eq!(take(Channel::Control, b"guess".to_vec()).await?, Err(TokenRefused::Wrong));
        assert_eq!(take(Channel::Control, vec![]).await?, Err(TokenRefused::Wrong));
        assert_eq!(take(Channel::Control, token(&ours.id, "events")).await?, Err(TokenRefused::Wrong));
        assert_eq!(take(Channel::Control, token(&theirs.id, "control")).await?, Err(TokenRefused::Wrong));
        let nobody = bench.store.take_token(&SessionId::fresh(), Channel::Control, b"x", &hub("hub")).await?;
        assert_eq!(nobody, Err(TokenRefused::UnknownSession));

        let info = SessionInfo { tenant: tenant(), agent: agent("one"), incarnation: ours.incarnation };
        for (channel, name) in
            [(Channel::Control, "control"), (Channel::Events, "events"), (Channel::Results, "results")]
        {
            assert_eq!(take(channel, token(&ours.id, name)).await?, Ok(info.clone()));
            assert_eq!(take(channel, token(&ours.id, name)).await?, Err(TokenRefused::Used));
        }
    }
    Ok(())
}

#[tokio::test]
async fn of_many_that_present_a_token_at_once_one_gets_in() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let session = session_of("one");
        bench.store.open_session(&session).await?;
        let presented = token(&session.id, "events");
        let here = hub("hub");
        let attempts =
            (0..8).map(|_| bench.store.take_token(&session.id, Channel::Events, &presented, &here));
        let mut taken = 0;
        for outcome in futures::future::join_all(attempts).await {
            taken += usize::from(outcome?.is_ok());
        }
        assert_eq!(taken, 1);
    }
    Ok(())
}

#[tokio::test]
async fn tokens_expire_and_end_with_their_session() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let brief = NewSession { token_ttl: Duration::ZERO, ..session_of("one") };
        bench.store.open_session(&brief).await?;
        let control = token(&brief.id, "control");
        let expired = bench.store.take_token(&brief.id, Channel::Control, &control, &hub("hub")).await?;
        assert_eq!(expired, Err(TokenRefused::Expired));

        let closed = session_of("two");
        bench.store.open_session(&closed).await?;
        assert!(bench.store.touch_session(&closed.id).await?);
        assert!(bench.store.close_session(&closed.id).await?);
        assert!(!bench.store.close_session(&closed.id).await?);
        assert!(!bench.store.touch_session(&closed.id).await?);
        let control = token(&closed.id, "control");
        let refused = bench.store.take_token(&closed.id, Channel::Control, &control, &hub("hub")).await?;
        assert_eq!(refused, Err(TokenRefused::Closed));
    }
    Ok(())
}

#[tokio::test]
async fn a_new_session_of_an_agent_takes_the_place_of_its_old_one() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (old, new, other) = (session_of("one"), session_of("one"), session_of("two"));
        for session in [&old, &other, &new] {
            bench.store.open_session(session).await?;
        }
        let live = bench.store.live_sessions(&tenant(), MINUTE).await?;
        let mut ids: Vec<_> = live.iter().map(|row| &row.id).collect();
        ids.sort_unstable();
        let mut expected = [&other.id, &new.id];
        expected.sort_unstable();
        assert_eq!(ids, expected);
        assert_eq!((&*live[0].zone, &*live[0].version), ("eu-1a", "0.1.0"));

        let from =
            |session: &NewSession| AttachRequest { session: session.id.clone(), ..offer("prod", "one") };
        assert!(matches!(bench.store.attach(&from(&new)).await?, AttachOutcome::Attached { .. }));
        assert_eq!(bench.store.attach(&from(&old)).await?, AttachOutcome::SessionClosed);
        let AttachOutcome::Attached { attachment: again, .. } = bench.store.attach(&from(&new)).await? else {
            panic!("it is its own")
        };
        assert_eq!(again.cursor.epoch.0, 2, "a refused attachment takes no epoch");
    }
    Ok(())
}

#[tokio::test]
async fn a_session_attaches_only_accepted_accounts_that_it_has_not_withdrawn() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let session = session_of("one");
        bench.store.open_session(&session).await?;
        let attach = async |name| {
            let request = AttachRequest { session: session.id.clone(), ..offer(name, "one") };
            bench.store.attach(&request).await
        };
        assert_eq!(attach("other").await?, AttachOutcome::NotAccepted);
        bench.store.accept(&tenant(), &session.id, &[account("other"), account("prod")]).await?;
        assert!(matches!(attach("other").await?, AttachOutcome::Attached { .. }));

        let AttachOutcome::Attached { attachment: held, .. } = attach("prod").await? else {
            panic!("it was accepted")
        };
        bench.store.withdraw(&tenant(), &session.id, &account("prod")).await?;
        assert_eq!(attach("prod").await?, AttachOutcome::NotAccepted);
        let late = write("prod", held.cursor);
        assert_eq!(bench.store.commit(&[late]).await?, [WriteOutcome::Stale], "what it still had to say");
        let standby = bench.attach_by(&offer("prod", "two")).await?;
        assert!(
            matches!(standby, AttachOutcome::Attached { .. }),
            "the account is free at once: {standby:?}"
        );

        // The withdrawal of an account that another agent has attached by now does not detach it.
        bench.store.withdraw(&tenant(), &session.id, &account("prod")).await?;
        let third = bench.attach_by(&offer("prod", "three")).await?;
        assert!(matches!(third, AttachOutcome::Busy { .. }), "{third:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_session_that_was_purged_attaches_nothing() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let session = session_of("one");
        bench.store.open_session(&session).await?;
        let request = AttachRequest { session: session.id.clone(), ..offer("prod", "one") };
        assert!(matches!(bench.store.attach(&request).await?, AttachOutcome::Attached { .. }));
        eventually!("the session is purged", bench.store.purge_sessions(Duration::ZERO).await.unwrap() > 0);
        assert_eq!(bench.store.attach(&request).await?, AttachOutcome::SessionClosed);
        assert!(!bench.store.session_is_live(&session.id, MINUTE).await?);
    }
    Ok(())
}

#[tokio::test]
async fn a_session_is_live_while_it_is_touched() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let session = session_of("one");
        bench.store.open_session(&session).await?;
        assert!(bench.store.session_is_live(&session.id, MINUTE).await?);
        eventually!(
            "the session falls silent",
            !bench.store.session_is_live(&session.id, Duration::from_millis(1)).await.unwrap()
        );
        bench.store.close_session(&session.id).await?;
        assert!(!bench.store.session_is_live(&session.id, MINUTE).await?);
    }
    Ok(())
}

#[tokio::test]
async fn two_processes_that_take_turns_contest_a_name() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let [first, second] = [Incarnation::fresh(), Incarnation::fresh()];
        let register = async |agent: &str, incarnation| {
            let session = NewSession { incarnation, ..session_of(agent) };
            bench.store.open_session(&session).await.unwrap();
            // Registrations are ordered by their time, in milliseconds.
            let opened = Timestamp::now();
            eventually!("time goes on", Timestamp::now().as_millisecond() > opened.as_millisecond() + 1);
        };
        for incarnation in [first, first, second, second] {
            register("restarted", incarnation).await;
        }
        assert!(bench.store.contested_agents(&tenant()).await?.is_empty(), "a restart is no contest");
        for incarnation in [first, second, first] {
            register("twice", incarnation).await;
        }
        let contested = bench.store.contested_agents(&tenant()).await?;
        assert_eq!(contested.into_iter().collect::<Vec<_>>(), [agent("twice")]);
    }
    Ok(())
}

#[tokio::test]
async fn silent_sessions_are_not_live_and_are_purged() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        bench.store.open_session(&session_of("one")).await?;
        assert_eq!(bench.store.purge_sessions(MINUTE).await?, 0);
        eventually!(
            "the session falls silent",
            bench
                .store
                .live_sessions(&tenant(), Duration::from_millis(20))
                .await
                .is_ok_and(|live| live.is_empty())
        );
        assert_eq!(bench.store.purge_sessions(Duration::from_millis(20)).await?, 1);
    }
    Ok(())
}
