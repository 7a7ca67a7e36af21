//! Operations: one life for each id, and every step taken once.

use std::time::Duration;

use bytes::Bytes;
use spindrift_hub::store::{
    AnswerPart, Inserted, NewOperation, NewSession, OperationEnd, OperationQuery, OperationRow,
    OperationState, Seat, Step, Stepped, TokenHash,
};
use spindrift_model::{
    AccountDescription, ClusterIdentity, Content, Ending, ErrorKind, Incarnation, OperationError,
    OperationId, Outcome, SessionId,
};
use spindrift_protocol::Channel;
use spindrift_testkit::eventually;

use crate::{
    bench::{Bench, account, agent, hub, tenant},
    isolation::trigger,
};

const MINUTE: Duration = Duration::from_mins(1);

fn operation() -> NewOperation {
    NewOperation {
        tenant: tenant(),
        id: OperationId::fresh(),
        account: account("prod"),
        verb: "apply",
        target: "Deployment shop/web".into(),
        mutation: true,
        digest: "d1".into(),
        time_left: MINUTE,
        hub: hub("hub-a"),
        seat: None,
        key_id: "k1".into(),
        body: Bytes::from_static(b"sealed"),
    }
}

fn seat(name: &str) -> Seat {
    Seat { agent: agent(name), incarnation: Incarnation::fresh() }
}

fn ended(outcome: Outcome) -> Ending {
    Ending { outcome, took: Duration::from_millis(14) }
}

fn by_hub(ending: &Ending) -> OperationEnd {
    OperationEnd { ending: ending.clone(), content: Content::Json, answer_bytes: None, answered_to: None }
}

#[tokio::test]
async fn of_many_inserts_of_an_id_one_succeeds_and_the_others_get_its_digest() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let new = operation();
        let inserts = (0..8).map(|_| bench.store.insert_operation(&new));
        let mut first = 0;
        for inserted in futures::future::join_all(inserts).await {
            match inserted? {
                Inserted::New => first += 1,
                Inserted::Known { digest } => assert_eq!(digest, "d1"),
            }
        }
        assert_eq!(first, 1);
        let row = bench.store.operation(&tenant(), new.id).await?.expect("it was inserted");
        assert_eq!(
            (row.state, &*row.target, row.mutation),
            (OperationState::Queued, "Deployment shop/web", true)
        );
        assert!(row.time_left() > MINUTE / 2 && row.ending().is_none());
        let body = bench.store.operation_body(&tenant(), new.id).await?;
        assert_eq!(body, Some(("k1".into(), Bytes::from_static(b"sealed"))));
    }
    Ok(())
}

#[tokio::test]
async fn a_change_is_marked_sent_to_one_incarnation_only() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (store, tenant, here) = (&bench.store, tenant(), hub("hub-a"));
        let (one, other) = (seat("one"), seat("two"));
        let write = operation();
        store.insert_operation(&write).await?;
        assert!(!store.mark_sent(&tenant, write.id, &hub("hub-b"), &one).await?, "it is another hub's");
        let both = tokio::join!(
            store.mark_sent(&tenant, write.id, &here, &one),
            store.mark_sent(&tenant, write.id, &here, &other)
        );
        assert_eq!(usize::from(both.0?) + usize::from(both.1?), 1, "one of them");
        assert!(store.unsend(&tenant, write.id, &here).await?);
        assert!(store.mark_sent(&tenant, write.id, &here, &other).await?);
        let row = store.operation(&tenant, write.id).await?.expect("it is there");
        let (_, by, to) = row.sent.expect("it was sent");
        assert_eq!((by, to), (here.clone(), other.clone()));

        let read = NewOperation { mutation: false, seat: Some(one.clone()), ..operation() };
        store.insert_operation(&read).await?;
        let row = store.operation(&tenant, read.id).await?.expect("it is there");
        assert_eq!((row.state, row.sent.map(|(_, _, to)| to)), (OperationState::Sent, Some(one)));
        assert!(store.mark_sent(&tenant, read.id, &here, &other).await?, "a read may be asked of another");

        store.freeze(&tenant, &account("prod"), "").await?;
        let late = operation();
        store.insert_operation(&late).await?;
        assert!(!store.mark_sent(&tenant, late.id, &here, &other).await?, "its account is frozen");
        assert!(store.mark_sent(&tenant, read.id, &here, &other).await?, "reads go on");
        store.unfreeze(&tenant, &account("prod")).await?;
        assert!(store.mark_sent(&tenant, late.id, &here, &other).await?);
    }
    Ok(())
}

#[tokio::test]
async fn an_operation_ends_once_and_only_an_unknown_outcome_is_corrected() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (store, tenant) = (&bench.store, tenant());
        let new = operation();
        store.insert_operation(&new).await?;
        let unknown = ended(OperationError::unknown("the agent died").into());
        assert!(store.end_operation(&tenant, new.id, &by_hub(&unknown)).await?);
        assert_eq!(store.operation_body(&tenant, new.id).await?, None, "what was asked is erased");
        let row = store.operation(&tenant, new.id).await?.expect("it is there");
        assert_eq!(row.ending(), Some(unknown));

        let here = hub("hub-b");
        let status = Bytes::from_static(br#"{"kind":"Status","code":422}"#);
        let failed = ended(OperationError::api_server(422, status).into());
        let told = OperationEnd { answered_to: Some(here.clone()), ..by_hub(&failed) };
        assert!(store.end_operation(&tenant, new.id, &told).await?, "the agent's word came after all");
        let expired = ended(OperationError::deadline_exceeded().into());
        assert!(!store.end_operation(&tenant, new.id, &by_hub(&expired)).await?, "that was the last word");
        let row = store.operation(&tenant, new.id).await?.expect("it is there");
        assert_eq!((row.ending(), row.answered.map(|(_, to)| to)), (Some(failed), Some(here)));
        assert!(!store.cancel_operation(&tenant, new.id).await?);
    }
    Ok(())
}

#[tokio::test]
async fn a_failed_row_keeps_the_kind_of_its_error_and_rows_of_0_1_get_one() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        let engine = bench.announce();
        let (store, tenant) = (&bench.store, tenant());
        // In 0.1, the hub looked for this text in the row.
        let old = "the hub's store did not answer; nothing was sent; try again";
        for kind in
            [ErrorKind::NotSent, ErrorKind::NoAgent, ErrorKind::MayHaveBeenQueued, ErrorKind::NoKindMatch]
        {
            let new = operation();
            store.insert_operation(&new).await?;
            let failed = ended(OperationError::hub(kind, old).into());
            store.end_operation(&tenant, new.id, &by_hub(&failed)).await?;
            let row = store.operation(&tenant, new.id).await?.expect("it is there");
            assert_eq!(row.ending(), Some(failed), "on {engine}");

            let of_0_1 = OperationRow { reason: String::new(), ..row };
            let Some(Outcome::Failed(error)) = of_0_1.ending().map(|ending| ending.outcome) else {
                panic!("it failed: {of_0_1:?}")
            };
            assert_eq!(
                (error.kind, error.message()),
                (if kind.code() == 503 { ErrorKind::NotSent } else { ErrorKind::NotFound }, old.into())
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn steps_are_taken_together_or_not_at_all() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        let engine = bench.announce();
        let (store, tenant, here) = (&bench.store, tenant(), hub("hub-a"));
        let (one, two) = (operation(), operation());
        let insert = |new: &NewOperation| Step::Insert(Box::new(new.clone()));
        let seat = seat("one");
        let send = Step::MarkSent { tenant: tenant.clone(), id: one.id, hub: here, seat: seat.clone() };
        let done = by_hub(&ended(Outcome::Succeeded { code: 200 }));
        let end = Step::End { tenant: tenant.clone(), id: one.id, end: done };
        let steps = [insert(&one), insert(&two), insert(&one), send.clone(), send, end.clone(), end];
        let taken = store.take_steps(&steps).await?;
        let [yes, no] = [true, false].map(|taken| Stepped { taken, digest: None });
        let known = Stepped { digest: Some("d1".into()), ..no.clone() };
        assert_eq!(taken, [yes.clone(), yes.clone(), known, yes.clone(), no.clone(), yes, no]);
        let row = store.operation(&tenant, one.id).await?.expect("it was inserted");
        assert_eq!((row.state, row.sent.map(|(_, _, to)| to)), (OperationState::Completed, Some(seat)));

        bench.database.execute(&trigger(engine, "spindrift_operation", "target", "cursed")).await?;
        let (good, cursed) = (operation(), NewOperation { target: "cursed".into(), ..operation() });
        let error = store.take_steps(&[insert(&good), insert(&cursed)]).await;
        assert!(error.expect_err("a trigger refuses it").is_refusal());
        assert!(store.operation(&tenant, good.id).await?.is_none(), "nothing of the group was written");
        assert!(store.take_step(&insert(&good)).await?.taken);
    }
    Ok(())
}

#[tokio::test]
async fn operations_of_hubs_that_are_gone_are_taken_over_and_others_are_not() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (store, tenant) = (&bench.store, tenant());
        let (alive, dead, here) = (hub("alive"), hub("dead"), hub("here"));
        store.heartbeat(&alive, "http://alive").await?;
        let theirs = NewOperation { hub: alive.clone(), ..operation() };
        let stranded = NewOperation { hub: dead, ..operation() };
        let over = operation();
        for new in [&theirs, &stranded, &over] {
            store.insert_operation(new).await?;
        }
        store.end_operation(&tenant, over.id, &by_hub(&ended(OperationError::cancelled().into()))).await?;
        assert_eq!(store.adopt_operations(&tenant, &here, MINUTE).await?, 1);
        let open: Vec<_> = store.open_operations(&tenant, &here).await?.iter().map(|row| row.id).collect();
        assert_eq!(open, [stranded.id]);
        assert!(store.hand_over(&tenant, stranded.id, &here, &alive).await?);
        assert!(!store.hand_over(&tenant, stranded.id, &here, &alive).await?, "it is not ours any more");
        assert_eq!(store.open_operations(&tenant, &alive).await?.len(), 2);
    }
    Ok(())
}

#[tokio::test]
async fn results_are_read_in_order_and_purged_before_their_operations() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (store, tenant) = (&bench.store, tenant());
        let (new, open) = (operation(), operation());
        for (id, new) in [(new.id, &new), (open.id, &open)] {
            store.insert_operation(new).await?;
            for offset in [3, 0, 300] {
                let part = AnswerPart { offset, sealed: vec![0xff; 5].into() };
                store.append_part(&tenant, id, &part).await?;
            }
        }
        let offsets = async |id, from| -> anyhow::Result<Vec<u64>> {
            Ok(store.parts(&tenant, id, from, 2).await?.iter().map(|part| part.offset).collect())
        };
        assert_eq!(offsets(new.id, 0).await?, [0, 3]);
        assert_eq!(offsets(new.id, 4).await?, [300]);
        let done = ended(Outcome::Succeeded { code: 200 });
        let kept = OperationEnd { answer_bytes: Some(305), content: Content::Text, ..by_hub(&done) };
        store.end_operation(&tenant, new.id, &kept).await?;
        let row = store.operation(&tenant, new.id).await?.expect("it is there");
        assert_eq!((row.answer_bytes, row.content, row.code), (Some(305), Content::Text, 200));

        store.purge_answers(MINUTE).await?;
        assert_eq!(offsets(new.id, 0).await?, [0, 3], "not yet");
        eventually!("its time has come", {
            store.purge_answers(Duration::from_millis(1)).await.unwrap();
            store.parts(&tenant, new.id, 0, 9).await.unwrap().is_empty()
        });
        let row = store.operation(&tenant, new.id).await?.expect("that it ended is known");
        assert_eq!(row.answer_bytes, None);
        assert_eq!(offsets(open.id, 0).await?, [0, 3], "what has not ended is not touched");
        store.forget_parts(&tenant, open.id).await?;
        assert!(offsets(open.id, 0).await?.is_empty());

        assert_eq!(store.purge_operations(MINUTE).await?, 0);
        eventually!("it is old", store.purge_operations(Duration::from_millis(1)).await.unwrap() == 1);
        assert!(store.operation(&tenant, new.id).await?.is_none());
        assert!(store.operation(&tenant, open.id).await?.is_some());
    }
    Ok(())
}

#[tokio::test]
async fn history_is_latest_first_by_account_and_state() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (store, tenant) = (&bench.store, tenant());
        let other = NewOperation { account: account("other"), ..operation() };
        let (one, two) = (operation(), operation());
        for new in [&one, &other, &two] {
            store.insert_operation(new).await?;
        }
        store
            .end_operation(&tenant, one.id, &by_hub(&ended(OperationError::deadline_exceeded().into())))
            .await?;
        let ids = async |query: OperationQuery| -> anyhow::Result<Vec<OperationId>> {
            let mut ids: Vec<_> = store.operations(&tenant, &query).await?.iter().map(|row| row.id).collect();
            ids.sort_unstable();
            Ok(ids)
        };
        let all = OperationQuery { limit: 10, ..OperationQuery::default() };
        assert_eq!(ids(all.clone()).await?.len(), 3);
        assert_eq!(ids(OperationQuery { limit: 2, offset: 2, ..all.clone() }).await?.len(), 1);
        let prod = OperationQuery { account: Some(account("prod")), ..all.clone() };
        let mut expected = [one.id, two.id];
        expected.sort_unstable();
        assert_eq!(ids(prod.clone()).await?, expected);
        let queued = OperationQuery { state: Some(OperationState::Queued), ..prod };
        assert_eq!(ids(queued).await?, [two.id]);
    }
    Ok(())
}

#[tokio::test]
async fn the_route_of_an_account_has_its_agents_and_its_freeze() -> anyhow::Result<()> {
    for bench in Bench::all().await? {
        bench.announce();
        let (store, tenant) = (&bench.store, tenant());
        assert_eq!(store.route(&tenant, &account("prod"), MINUTE).await?, None);
        let description = AccountDescription {
            name: account("prod"),
            cluster: ClusterIdentity { host: "https://prod".into(), ..ClusterIdentity::default() },
            kubernetes_version: "v1.36.3".into(),
            namespaces: vec![],
            properties: r#"{"namespaces":["shop"]}"#.into(),
            max_resumable_age: MINUTE,
        };
        store.announce(&tenant, &agent("one"), &description).await?;
        let session = NewSession {
            tenant: tenant.clone(),
            id: SessionId::fresh(),
            agent: agent("one"),
            incarnation: Incarnation::fresh(),
            hub: hub("registered-here"),
            version: "0.1.0".into(),
            zone: String::new(),
            verbs: vec!["get".into(), "apply".into()],
            token_hashes: ["c", "e", "r"].map(|token| TokenHash::of(token.as_bytes())),
            token_ttl: MINUTE,
            accounts: vec![account("prod")],
        };
        store.open_session(&session).await?;
        let route = store.route(&tenant, &account("prod"), MINUTE).await?.expect("it is announced");
        assert_eq!(
            (&*route.properties, route.candidates.len()),
            (&*description.properties, 0),
            "no channel yet"
        );

        store.take_token(&session.id, Channel::Control, b"c", &hub("hub-b")).await?.expect("its token");
        store.take_token(&session.id, Channel::Events, b"e", &hub("hub-c")).await?.expect("its token");
        store.freeze(&tenant, &account("prod"), "first").await?;
        store.freeze(&tenant, &account("prod"), "second").await?;
        let route = store.route(&tenant, &account("prod"), MINUTE).await?.expect("it is announced");
        let [candidate] = &route.candidates[..] else { panic!("one agent: {route:?}") };
        assert_eq!((candidate.hub.as_str(), &candidate.verbs), ("hub-b", &session.verbs));
        assert_eq!(route.frozen.map(|freeze| freeze.reason).as_deref(), Some("second"));
        assert_eq!(store.frozen(&tenant).await?.len(), 1);
        assert!(store.unfreeze(&tenant, &account("prod")).await?);
        assert!(!store.unfreeze(&tenant, &account("prod")).await?);

        store.close_session(&session.id).await?;
        let route = store.route(&tenant, &account("prod"), MINUTE).await?.expect("it is announced");
        assert!(route.candidates.is_empty() && route.frozen.is_none());
    }
    Ok(())
}
