//! Hubs, their store and the links of agents, with all kinds of failures.

mod answers;
mod bench;
mod ledger;
mod lives;
mod store;

use spindrift_model::{ErrorKind, OperationId, Outcome};
use spindrift_protocol::ControlDown;
use spindrift_testkit::Database;
use tokio::time::Duration;

use super::Event;
use crate::store::OperationState;
use bench::{Bench, OK, account, create, key, list};

async fn one() -> (Database, Bench) {
    let database = Database::sqlite().unwrap();
    let bench = Bench::start(&database, "hub-a", key()).await;
    (database, bench)
}

#[tokio::test]
async fn an_operation_that_an_agent_may_have_begun_is_cancelled_by_it_alone() {
    let (_database, bench) = one().await;
    let mut peer = bench.agent("agent-a").await;
    let mut running = bench.dispatch.submit(create("web", "x")).await.unwrap();
    assert_eq!(peer.asked().await.id, running.id);
    let seat = peer.leave();
    assert!(bench.dispatch.cancel(running.id).await.unwrap());
    let mut peer = bench.join(seat).await;
    assert_eq!(peer.asked().await.id, running.id, "it is sent again to the same incarnation");
    assert_eq!(peer.told().await, ControlDown::Cancel(running.id));
    // It was too late.
    peer.answer(running.id, b"{}", OK);
    assert!(matches!(running.next().await, Some(Event::Piece(..))));
    let Some(Event::Ended(_, ending)) = running.next().await else { panic!("it has ended") };
    assert_eq!(ending.outcome, OK);
    // The caller gets the end before the row has it.
    bench.becomes(running.id, OperationState::Completed).await;
}

#[tokio::test]
async fn a_change_that_waits_while_its_account_is_frozen_is_not_sent() {
    let (_database, bench) = one().await;
    let mut change = bench.dispatch.submit(create("web", "x")).await.unwrap();
    let read = bench.dispatch.submit(list()).await.unwrap();
    let tenant = &bench.dispatch.shared.config.tenant;
    bench.store.freeze(tenant, &account(), "the auditors are here").await.unwrap();
    let mut peer = bench.agent("agent-a").await;
    assert_eq!(peer.asked().await.id, read.id, "reads go on");
    let Some(Event::Ended(_, ending)) = change.next().await else { panic!("it has ended") };
    let Outcome::Failed(error) = ending.outcome else { panic!("it was refused: {ending:?}") };
    assert_eq!((error.kind, error.code), (ErrorKind::Frozen, 423));
    assert!(error.message().contains("account prod is frozen: the auditors are here"));
    assert!(peer.heard_nothing());
}

#[tokio::test]
async fn a_request_submitted_before_is_answered_even_if_it_would_be_refused_now() {
    let (_database, bench) = one().await;
    let mut peer = bench.agent("agent-a").await;
    let asked = create("web", "x").under(OperationId::fresh());
    let mut running = bench.dispatch.submit(asked.clone()).await.unwrap();
    peer.asked().await;
    peer.answer(running.id, b"{}", OK);
    while !matches!(running.next().await, Some(Event::Ended(..))) {}
    let tenant = &bench.dispatch.shared.config.tenant;
    bench.store.freeze(tenant, &account(), "").await.unwrap();
    let mut again = bench.dispatch.submit(asked.clone()).await.expect("it is known");
    assert!(matches!(again.next().await, Some(Event::Piece(..))));
    assert!(matches!(again.next().await, Some(Event::Ended(_, ending)) if ending.outcome == OK));
    let other = create("web", "y").under(asked.operation.id);
    assert_eq!(bench.dispatch.submit(other).await.unwrap_err().code, 423, "that is another request");
}

#[tokio::test]
async fn large_requests_at_once_never_exceed_the_limit_of_an_agent() {
    let (_database, bench) = one().await;
    let mut peer = bench.agent("agent-a").await;
    let large = "x".repeat(5 * 1024 * 1024);
    let mut open = Vec::new();
    for name in 0..10 {
        open.push(bench.dispatch.submit(create(&name.to_string(), &large)).await.unwrap());
    }
    for _ in &open {
        let request = tokio::time::timeout(Duration::from_mins(1), peer.asked()).await.unwrap();
        assert!(open.iter().any(|running| running.id == request.id));
    }
}
