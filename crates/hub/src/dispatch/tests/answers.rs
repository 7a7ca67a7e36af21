//! Answers that are long, broken, read twice, or read at another hub.

use bytes::Bytes;
use spindrift_model::{ErrorKind, OperationError, OperationId, Outcome};
use spindrift_protocol::{FIRST_CREDIT, RESULT_PIECE_BYTES, ResultsDown};
use spindrift_testkit::{Database, eventually};

use super::{
    super::Event,
    bench::{Bench, OK, create, key, list},
    one,
};
use crate::store::OperationState;

#[tokio::test]
async fn a_broken_answer_to_a_change_leaves_an_unknown_outcome() {
    let (_database, bench) = one().await;
    let mut peer = bench.agent("agent-a").await;
    let mut running = bench.dispatch.submit(create("web", "x")).await.unwrap();
    peer.asked().await;
    let too_much = usize::try_from(FIRST_CREDIT).unwrap() + 1;
    peer.piece(running.id, 0, vec![b' '; too_much].into(), None);
    let Some(Event::Ended(_, ending)) = running.next().await else { panic!("it has ended") };
    let error = OperationError::unknown("the agent sent more than it was asked for");
    assert_eq!(ending.outcome, Outcome::Failed(error));
    bench.becomes(running.id, OperationState::Unknown).await;
}

#[tokio::test]
async fn a_second_caller_who_is_slow_costs_little_and_gets_all_of_it() {
    let (_database, bench) = one().await;
    let mut peer = bench.agent("agent-a").await;
    let order = list().under(OperationId::fresh());
    let mut first = bench.dispatch.submit(order.clone()).await.unwrap();
    let id = first.id;
    peer.asked().await;
    let pieces = 12 * FIRST_CREDIT / RESULT_PIECE_BYTES as u64;
    let mut credit = FIRST_CREDIT;
    for piece in 0..pieces {
        let offset = piece * RESULT_PIECE_BYTES as u64;
        while credit < offset + RESULT_PIECE_BYTES as u64 {
            assert!(matches!(first.next().await, Some(Event::Piece(..))));
            while let Ok(ResultsDown::Credit(_, more)) = peer.down_rx.try_recv() {
                credit = more;
            }
        }
        let chunk = Bytes::from(vec![b'a' + u8::try_from(piece % 26).unwrap(); RESULT_PIECE_BYTES]);
        peer.piece(id, offset, chunk, (piece + 1 == pieces).then_some(OK));
    }
    bench.becomes(id, OperationState::Completed).await;

    let mut second = bench.dispatch.submit(order).await.unwrap();
    eventually!("it begins", !second.events_rx.is_empty());
    let bound = 4 * FIRST_CREDIT / RESULT_PIECE_BYTES as u64;
    let mut received = 0_u64;
    loop {
        assert!(second.events_rx.len() as u64 <= bound, "{} pieces wait", second.events_rx.len());
        match second.next().await {
            Some(Event::Piece(_, bytes)) => {
                let piece = received / RESULT_PIECE_BYTES as u64;
                assert_eq!(bytes[0], b'a' + u8::try_from(piece % 26).unwrap());
                received += bytes.len() as u64;
            }
            Some(Event::Ended(_, ending)) => break assert_eq!(ending.outcome, OK),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(received, pieces * RESULT_PIECE_BYTES as u64);
}

#[tokio::test]
async fn an_answer_that_is_read_at_another_hub_is_never_made_of_two() {
    let database = Database::sqlite().unwrap();
    let connected = Bench::start(&database, "hub-b", key()).await;
    let asked = Bench::start(&database, "hub-a", key()).await;
    let mut peer = connected.agent("agent-a").await;
    let mut running = asked.dispatch.submit(list()).await.unwrap();
    peer.asked().await;
    peer.piece(running.id, 0, vec![b'a'; RESULT_PIECE_BYTES].into(), None);
    assert!(matches!(running.next().await, Some(Event::Piece(..))), "it is passed on as it comes");
    // The agent is lost, and there is another one, which would begin from the start.
    let mut standby = connected.agent("agent-b").await;
    drop(peer.leave());
    let Some(Event::Ended(_, ending)) = running.next().await else { panic!("it breaks off") };
    let Outcome::Failed(error) = ending.outcome else { panic!("it failed: {ending:?}") };
    assert_eq!((error.kind, error.code), (ErrorKind::BadAnswer, 502));
    assert!(standby.heard_nothing(), "nothing is sent to it");
}

#[tokio::test]
async fn a_part_of_a_stored_answer_is_not_taken_for_all_of_it() {
    let (database, bench) = one().await;
    let refuse = "CREATE TRIGGER no_second BEFORE INSERT ON spindrift_operation_part WHEN NEW.part_offset > 0 \
                  BEGIN SELECT RAISE(ABORT, 'the disk is full'); END";
    database.execute(refuse).await.unwrap();
    let mut peer = bench.agent("agent-a").await;
    let order = create("web", "x").under(OperationId::fresh());
    let mut first = bench.dispatch.submit(order.clone()).await.unwrap();
    peer.asked().await;
    peer.answer(first.id, &vec![b' '; RESULT_PIECE_BYTES + 1], OK);
    while !matches!(first.next().await, Some(Event::Ended(..))) {}
    let row = bench.becomes(first.id, OperationState::Completed).await;
    assert_eq!(row.answer_bytes, None);
    let mut second = bench.dispatch.submit(order).await.unwrap();
    assert!(matches!(second.next().await, Some(Event::Forgotten(_))));
}
