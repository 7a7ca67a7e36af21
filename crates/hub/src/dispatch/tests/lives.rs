//! Restarted hubs, passed deadlines, and late results.

use std::time::Duration;

use spindrift_model::{ErrorKind, Outcome};
use spindrift_protocol::{RESULT_PIECE_BYTES, ResultsDown};
use spindrift_testkit::{Database, eventually};

use super::{
    super::Vault,
    bench::{Bench, OK, create, key, list},
};
use crate::store::OperationState;

#[tokio::test]
async fn a_late_result_replaces_an_unknown_outcome() {
    let database = Database::sqlite().unwrap();
    let bench = Bench::start(&database, "hub-a", key()).await;
    let mut peer = bench.agent("agent-a").await;
    let order = create("web", "x").within(Some(Duration::from_millis(100))).kept(true);
    let running = bench.dispatch.submit(order).await.unwrap();
    peer.asked().await;
    bench.becomes(running.id, OperationState::Unknown).await;
    eventually!("the hub is done with it", bench.dispatch.shared.entry(running.id).is_none());
    // Longer than one piece: all of it is waited for.
    peer.answer(running.id, &vec![b' '; 3 * RESULT_PIECE_BYTES], OK);
    let row = bench.becomes(running.id, OperationState::Completed).await;
    assert_eq!((row.code, row.answer_bytes), (201, Some(3 * RESULT_PIECE_BYTES as u64)));
    assert_eq!(peer.heard().await, ResultsDown::Done(running.id), "the agent may drop it");
}

#[tokio::test]
async fn a_hub_that_lost_its_key_gets_results_of_sent_operations_and_ends_the_rest() {
    let database = Database::sqlite().unwrap();
    let before = Bench::start(&database, "hub-a", Vault::fleeting().unwrap()).await;
    let mut peer = before.agent("agent-a").await;
    let begun = before.dispatch.submit(create("web", "x")).await.unwrap();
    let read = before.dispatch.submit(list()).await.unwrap();
    peer.asked().await;
    peer.asked().await;
    let seat = peer.leave();
    let queued = before.dispatch.submit(create("api", "x")).await.unwrap();
    before.end();

    let bench = Bench::start(&database, "hub-a", Vault::fleeting().unwrap()).await;
    let mut peer = bench.join(seat).await;
    for ended in [queued.id, read.id] {
        let row = bench.becomes(ended, OperationState::Failed).await;
        let status = String::from_utf8_lossy(&row.status).into_owned();
        assert!(row.code == 503 && status.contains("no other hub has the key"), "{status}");
    }
    peer.answer(begun.id, b"{}", OK);
    bench.becomes(begun.id, OperationState::Completed).await;
    assert!(peer.heard_nothing(), "nothing was sent again");
}

#[tokio::test]
async fn an_operation_whose_agent_never_answers_is_counted_unknown_once() {
    let database = Database::sqlite().unwrap();
    let bench = Bench::start(&database, "hub-a", key()).await;
    let mut peer = bench.agent("agent-a").await;
    let order = create("web", "x").within(Some(Duration::from_millis(100)));
    let running = bench.dispatch.submit(order).await.unwrap();
    peer.asked().await;
    let first = bench.becomes(running.id, OperationState::Unknown).await;
    eventually!("the hub is done with it", bench.dispatch.shared.entry(running.id).is_none());
    // The beginning of an answer, and then nothing: the hub waits for the rest, and does not count the same again.
    peer.piece(running.id, 0, vec![b' '; RESULT_PIECE_BYTES].into(), None);
    assert!(bench.dispatch.shared.entry(running.id).is_some());
    eventually!(
        "the hub is done with it again",
        Duration::from_secs(30),
        bench.dispatch.shared.entry(running.id).is_none()
    );
    let counted = &bench.dispatch.shared.metrics.operations;
    assert_eq!(counted.get_or_create(&[("verb", "create"), ("outcome", "unknown")]).get(), 1);
    let row = bench.row(running.id).await;
    assert_eq!((row.state, row.ended_at), (OperationState::Unknown, first.ended_at));
    let Some(Outcome::Failed(error)) = row.ending().map(|ending| ending.outcome) else { panic!("{row:?}") };
    assert_eq!(error.kind, ErrorKind::OutcomeUnknown);
    assert!(error.message().contains("agent-a, which has not reported the outcome"), "{error}");
}
