use futures::FutureExt;
use spindrift_model::Outcome;
use spindrift_protocol::{FIRST_CREDIT, RESULT_PIECE_BYTES};

use super::*;

const DONE: Outcome = Outcome::Succeeded { code: 200 };

fn outbox() -> Arc<Outbox> {
    Arc::new(Outbox::new(ResponseRetries::default()))
}

fn open(outbox: &Arc<Outbox>, is_mutation: bool) -> Letterbox {
    let operation = OperationId::fresh();
    outbox.open(operation, is_mutation, &CancellationToken::new()).expect("a new one")
}

fn close(letterbox: &Letterbox, body: usize) {
    letterbox.close(vec![b'x'; body].into(), Ending { outcome: DONE, took: Duration::ZERO });
}

fn next(outbox: &Outbox) -> Option<ResultPart> {
    outbox.next().now_or_never()
}

#[tokio::test]
async fn pieces_of_many_answers_take_turns() {
    let outbox = outbox();
    let [long, short] = [open(&outbox, true), open(&outbox, true)];
    close(&long, 3 * RESULT_PIECE_BYTES);
    close(&short, 10);
    let order: Vec<_> =
        std::iter::from_fn(|| next(&outbox)).map(|part| (part.operation, part.offset)).collect();
    let piece = RESULT_PIECE_BYTES as u64;
    let (long, short) = (long.operation, short.operation);
    assert_eq!(order, [(long, 0), (short, 0), (long, piece), (long, 2 * piece)]);
}

#[tokio::test]
async fn no_answer_goes_further_than_its_credit() {
    let outbox = outbox();
    let [large, small] = [open(&outbox, true), open(&outbox, true)];
    close(&large, usize::try_from(FIRST_CREDIT).unwrap() + 100);
    let sent: usize = std::iter::from_fn(|| next(&outbox)).map(|part| part.chunk.len()).sum();
    assert_eq!(sent as u64, FIRST_CREDIT);
    close(&small, 1);
    assert_eq!(next(&outbox).unwrap().operation, small.operation, "others have their own");
    outbox.heard(ResultsDown::Credit(large.operation, FIRST_CREDIT + 60));
    assert_eq!(next(&outbox).unwrap().chunk.len(), 60);
    outbox.heard(ResultsDown::Credit(large.operation, FIRST_CREDIT + 1000));
    let last = next(&outbox).unwrap();
    assert_eq!((last.offset, last.chunk.len(), last.ending.unwrap().outcome), (FIRST_CREDIT + 60, 40, DONE));
}

#[tokio::test]
async fn who_reads_waits_for_the_hub_and_ends_with_its_session() {
    let outbox = outbox();
    let letterbox = open(&outbox, false);
    let mut written = 0;
    while letterbox.send(vec![b'x'; RESULT_PIECE_BYTES].into()).now_or_never() == Some(Ok(())) {
        written += RESULT_PIECE_BYTES;
        assert!(written < 8 * RESULT_PIECE_BYTES, "it is held at some point");
    }
    let mut waiting = Box::pin(letterbox.send(Bytes::from_static(b"more")));
    assert!((&mut waiting).now_or_never().is_none());
    assert!(next(&outbox).is_some());
    assert_eq!(waiting.await, Ok(()), "there is room again");
    outbox.end_session();
    assert_eq!(letterbox.send(Bytes::from_static(b"late")).await, Err(Gone));
    assert!(next(&outbox).is_none());
}

#[tokio::test]
async fn what_was_done_keeps_its_outcome_when_too_much_waits_for_the_hub() {
    let outbox = outbox();
    let [first, second] = [open(&outbox, true), open(&outbox, true)];
    close(&first, KEPT_BYTES / 2);
    close(&second, KEPT_BYTES / 2 + 1);
    let state = outbox.state.lock();
    let (lost, kept) = (&state.letters[&first.operation], &state.letters[&second.operation]);
    assert_eq!((lost.held(), kept.held()), (0, KEPT_BYTES / 2 + 1));
    assert!(lost.ending.is_some() && kept.ending.is_some());
}

#[tokio::test]
async fn an_agent_that_stops_waits_until_the_hub_has_what_was_done() {
    let outbox = outbox();
    let read = open(&outbox, false);
    assert!(outbox.settled().now_or_never().is_some(), "what is read can be read again");
    let change = open(&outbox, true);
    close(&read, 1);
    close(&change, 1);
    let mut settled = Box::pin(outbox.settled());
    assert!((&mut settled).now_or_never().is_none());
    outbox.heard(ResultsDown::Done(change.operation));
    settled.await;
}

#[tokio::test]
async fn a_read_that_was_cut_off_says_nothing_in_the_name_of_the_next() {
    let outbox = outbox();
    let cut = open(&outbox, false);
    outbox.end_session();
    outbox.begin_session();
    let again = outbox.open(cut.operation, false, &CancellationToken::new()).expect("reads may come again");
    assert_eq!(cut.send(Bytes::from_static(b"old")).await, Err(Gone));
    close(&cut, 3);
    assert!(next(&outbox).is_none());
    close(&again, 5);
    assert_eq!(next(&outbox).unwrap().chunk.len(), 5);
}

#[tokio::test]
async fn what_nobody_took_rests_until_it_is_asked_for_or_a_session_begins() {
    let retries = ResponseRetries { enabled: true, max_retries: 1, back_off_ms: 10 };
    let outbox = Arc::new(Outbox::new(retries));
    let change = open(&outbox, true);
    let operation = change.operation;
    close(&change, 5);
    let is_whole = |part: &ResultPart| (part.operation, part.chunk.len()) == (operation, 5);
    for _ in 0..2 {
        assert!(is_whole(&outbox.next().await), "it is sent, and once more");
    }
    let rests = || outbox.state.lock().letters[&operation].resting;
    tokio::select! {
        part = outbox.next() => panic!("it is sent no more: {part:?}"),
        () = async { while !rests() { tokio::task::yield_now().await } } => {}
    }
    assert_eq!(outbox.len(), 0, "it is in nobody's way");
    assert!(outbox.settled().now_or_never().is_some(), "nobody waits for it");

    assert!(outbox.open(operation, true, &CancellationToken::new()).is_none(), "it is not done again");
    assert!(next(&outbox).is_some_and(|part| is_whole(&part)), "with its body");
    outbox.end_session();
    outbox.begin_session();
    assert!(next(&outbox).is_some_and(|part| is_whole(&part)));
    outbox.heard(ResultsDown::Done(operation));
    assert!(outbox.state.lock().letters.is_empty());
}
