//! Errors of the store at the worst moments.

use spindrift_model::{ErrorKind, OperationId, Outcome};
use spindrift_protocol::ResultsDown;
use spindrift_testkit::Database;

use super::{
    super::Event,
    bench::{Bench, OK, create, key},
    one,
};
use crate::store::{OperationQuery, OperationRow, OperationState};

/// The store records no end of an operation.
const NO_END: &str = "CREATE TRIGGER no_end BEFORE UPDATE OF ended_at ON spindrift_operation \
                      WHEN NEW.ended_at <> 0 BEGIN SELECT RAISE(ABORT, 'not now'); END";

#[tokio::test]
async fn an_end_that_is_not_recorded_is_reported_and_the_agent_keeps_it_until_it_is() {
    let (database, bench) = one().await;
    let mut peer = bench.agent("agent-a").await;
    let mut running = bench.dispatch.submit(create("web", "x")).await.unwrap();
    peer.asked().await;
    database.execute(NO_END).await.unwrap();
    peer.answer(running.id, b"{}", OK);
    assert!(matches!(running.next().await, Some(Event::Piece(..))));
    assert!(matches!(running.next().await, Some(Event::Ended(_, ending)) if ending.outcome == OK));
    assert_eq!(bench.row(running.id).await.state, OperationState::Sent);
    assert!(peer.down_rx.try_recv().is_err(), "a hub that is started anew would ask the agent");

    database.execute("DROP TRIGGER no_end").await.unwrap();
    bench.becomes(running.id, OperationState::Completed).await;
    assert_eq!(peer.heard().await, ResultsDown::Done(running.id), "the agent may drop it");
}

#[tokio::test]
async fn that_a_change_was_not_made_is_reported_only_once_it_is_recorded() {
    let (database, bench) = one().await;
    let mut running = bench.dispatch.submit(create("web", "x")).await.unwrap();
    database.execute(NO_END).await.unwrap();
    bench.dispatch.cancel(running.id).await.unwrap();
    let Some(Event::Ended(_, ending)) = running.next().await else { panic!("it has ended") };
    let Outcome::Failed(error) = ending.outcome else { panic!("{ending:?}") };
    assert_eq!(error.kind, ErrorKind::NotRecorded);
    assert!(error.message().starts_with("nothing was sent, but the hub's store does not answer"), "{error}");
    database.execute("DROP TRIGGER no_end").await.unwrap();
    bench.becomes(running.id, OperationState::Cancelled).await;
}

#[tokio::test]
async fn a_row_inserted_although_its_caller_was_refused_is_ended_and_not_sent() {
    let (database, bench) = one().await;
    let mut peer = bench.agent("agent-a").await;
    // The row stays, and its insertion reports an error. Nor can it be ended at once.
    let fail = "CREATE TRIGGER broken_line AFTER INSERT ON spindrift_operation \
                BEGIN SELECT RAISE(FAIL, 'the line broke'); END";
    database.execute(fail).await.unwrap();
    database.execute(NO_END).await.unwrap();
    let refusal = bench.dispatch.submit(create("web", "x")).await.unwrap_err();
    assert_eq!((refusal.code, refusal.kind), (503, ErrorKind::MayHaveBeenQueued), "{refusal:?}");
    assert_eq!(refusal.parsed().reason, "ServiceUnavailable");
    let latest = OperationQuery { limit: 1, ..OperationQuery::default() };
    let rows = bench.store.operations(&bench.dispatch.shared.config.tenant, &latest).await.unwrap();
    let [OperationRow { id, state: OperationState::Sent, .. }] = rows[..] else {
        panic!("it is there: {rows:?}")
    };
    bench.look_for_work().await;
    assert!(bench.dispatch.shared.entry(id).is_none(), "it is not delivered");
    database.execute("DROP TRIGGER no_end").await.unwrap();
    let row = bench.becomes(id, OperationState::Failed).await;
    assert_eq!((row.code, &*row.reason), (503, "MayHaveBeenQueued"));
    assert!(peer.heard_nothing(), "nothing was sent, as its caller was told");
}

#[tokio::test]
async fn an_id_that_was_refused_while_its_row_may_exist_is_not_accepted_again() {
    let (database, bench) = one().await;
    let mut peer = bench.agent("agent-a").await;
    let refuse = "CREATE TRIGGER no_row BEFORE INSERT ON spindrift_operation \
                  BEGIN SELECT RAISE(ABORT, 'not now'); END";
    database.execute(refuse).await.unwrap();
    let asked = create("web", "x").under(OperationId::fresh());
    let refused = bench.dispatch.submit(asked.clone()).await.unwrap_err();
    assert!(
        !refused.kind.is_transient() && refused.message().contains("nothing will be under this id"),
        "{refused:?}"
    );
    database.execute("DROP TRIGGER no_row").await.unwrap();
    // The withdrawal would end the row while the agent executes it.
    assert_eq!(bench.dispatch.submit(asked).await.unwrap_err(), refused);
    assert!(peer.heard_nothing());
    let other = bench.dispatch.submit(create("web", "x")).await.unwrap();
    assert_eq!(peer.asked().await.id, other.id);
}

#[tokio::test]
async fn an_operation_handed_over_despite_an_error_is_done_once_and_reported_to_its_caller() {
    let database = Database::sqlite().unwrap();
    let connected = Bench::start(&database, "hub-b", key()).await;
    let asked = Bench::start(&database, "hub-a", key()).await;
    let mut peer = connected.agent("agent-a").await;
    // The row is the other hub's, and the update reports an error.
    let fail = "CREATE TRIGGER broken_line AFTER UPDATE OF driver ON spindrift_operation \
                BEGIN SELECT RAISE(FAIL, 'the line broke'); END";
    database.execute(fail).await.unwrap();
    let mut running = asked.dispatch.submit(create("web", "x")).await.unwrap();
    assert_eq!(peer.asked().await.id, running.id);
    assert_eq!(connected.row(running.id).await.driver.as_str(), "hub-b");
    peer.answer(running.id, b"{}", OK);
    let ending = loop {
        match running.next().await {
            Some(Event::Piece(..)) => {}
            Some(Event::Ended(_, ending)) => break ending,
            other => panic!("it ends: {other:?}"),
        }
    };
    assert_eq!(ending.outcome, OK);
    assert_eq!(peer.heard().await, ResultsDown::Done(running.id));
    assert_eq!(connected.row(running.id).await.state, OperationState::Completed);
    assert!(peer.heard_nothing(), "it was asked for once");
}
