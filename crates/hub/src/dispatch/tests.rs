//! Hubs, their store and the links of agents, with whatever can come between.

mod answers;
mod bench;
mod ledger;
mod lives;
mod store;

use spindrift_model::OperationId;
use spindrift_protocol::ControlDown;
use spindrift_testkit::Database;
use tokio::time::Duration;

use super::{Event, Order};
use crate::store::OperationState;
use bench::{Bench, OK, account, create, key, list};

async fn one() -> (Database, Bench) {
    let database = Database::sqlite().unwrap();
    let bench = Bench::start(&database, "hub-a", key()).await;
    (database, bench)
}

#[tokio::test]
async fn what_an_agent_may_have_begun_is_called_off_by_it_alone() {
    let (_database, bench) = one().await;
    let mut peer = bench.agent("agent-a").await;
    let mut running = bench.dispatch.submit(create("web", "x")).await.unwrap();
    assert_eq!(peer.asked().await.operation, running.id);
    let seat = peer.leave();
    assert!(bench.dispatch.cancel(running.id).await.unwrap());
    let mut peer = bench.join(seat).await;
    assert_eq!(peer.asked().await.operation, running.id, "the same incarnation is asked again");
    assert_eq!(peer.told().await, ControlDown::Cancel(running.id));
    // It was too late.
    peer.answer(running.id, b"{}", OK);
    assert!(matches!(running.next().await, Some(Event::Piece(..))));
    let Some(Event::Ended(_, ending)) = running.next().await else { panic!("it has ended") };
    assert_eq!(ending.outcome, OK);
    assert_eq!(bench.row(running.id).await.state, OperationState::Completed);
}

#[tokio::test]
async fn what_waits_while_its_account_is_frozen_is_not_sent() {
    let (_database, bench) = one().await;
    let mut change = bench.dispatch.submit(create("web", "x")).await.unwrap();
    let read = bench.dispatch.submit(list()).await.unwrap();
    let tenant = &bench.dispatch.shared.config.tenant;
    bench.store.freeze(tenant, &account(), "the auditors are here").await.unwrap();
    let mut peer = bench.agent("agent-a").await;
    assert_eq!(peer.asked().await.operation, read.id, "reads go on");
    let Some(Event::Ended(_, ending)) = change.next().await else { panic!("it has ended") };
    let spindrift_model::Outcome::Failed { code: 423, status } = ending.outcome else {
        panic!("it was refused: {ending:?}")
    };
    assert!(String::from_utf8_lossy(&status).contains("account prod is frozen: the auditors are here"));
    assert!(peer.heard_nothing());
}

#[tokio::test]
async fn what_was_asked_before_is_answered_whatever_stands_in_its_way_now() {
    let (_database, bench) = one().await;
    let mut peer = bench.agent("agent-a").await;
    let asked = Order { id: Some(OperationId::fresh()), ..create("web", "x") };
    let mut running = bench.dispatch.submit(asked.clone()).await.unwrap();
    peer.asked().await;
    peer.answer(running.id, b"{}", OK);
    while !matches!(running.next().await, Some(Event::Ended(..))) {}
    let tenant = &bench.dispatch.shared.config.tenant;
    bench.store.freeze(tenant, &account(), "").await.unwrap();
    let mut again = bench.dispatch.submit(asked.clone()).await.expect("it is known");
    assert!(matches!(again.next().await, Some(Event::Piece(..))));
    assert!(matches!(again.next().await, Some(Event::Ended(_, ending)) if ending.outcome == OK));
    let other = Order { id: asked.id, ..create("web", "y") };
    assert_eq!(bench.dispatch.submit(other).await.unwrap_err().code, 423, "that was never asked");
}

#[tokio::test]
async fn large_requests_at_once_never_exceed_what_an_agent_puts_together() {
    let (_database, bench) = one().await;
    let mut peer = bench.agent("agent-a").await;
    let large = "x".repeat(5 * 1024 * 1024);
    let mut open = Vec::new();
    for name in 0..10 {
        open.push(bench.dispatch.submit(create(&name.to_string(), &large)).await.unwrap());
    }
    for _ in &open {
        let request = tokio::time::timeout(Duration::from_mins(1), peer.asked()).await.unwrap();
        assert!(open.iter().any(|running| running.id == request.operation));
    }
}
