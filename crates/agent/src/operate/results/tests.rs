use futures::FutureExt;
use spindrift_model::Outcome;
use spindrift_protocol::{FIRST_CREDIT, RESULT_PIECE_BYTES};

use super::*;

const DONE: Outcome = Outcome::Succeeded { code: 200 };

fn new_results() -> Arc<Results> {
    Arc::new(Results::new(ResponseRetries::default()))
}

fn open(results: &Arc<Results>, is_mutation: bool) -> ResultWriter {
    let operation = OperationId::fresh();
    results.open(operation, is_mutation, &CancellationToken::new()).expect("a new one")
}

fn close(writer: &ResultWriter, body: usize) {
    writer.close(vec![b'x'; body].into(), Ending { outcome: DONE, took: Duration::ZERO });
}

fn next(results: &Results) -> Option<ResultPart> {
    results.next().now_or_never()
}

#[tokio::test]
async fn pieces_of_many_answers_take_turns() {
    let results = new_results();
    let [long, short] = [open(&results, true), open(&results, true)];
    close(&long, 3 * RESULT_PIECE_BYTES);
    close(&short, 10);
    let order: Vec<_> =
        std::iter::from_fn(|| next(&results)).map(|part| (part.operation, part.offset)).collect();
    let piece = RESULT_PIECE_BYTES as u64;
    let (long, short) = (long.operation, short.operation);
    assert_eq!(order, [(long, 0), (short, 0), (long, piece), (long, 2 * piece)]);
}

#[tokio::test]
async fn no_answer_goes_further_than_its_credit() {
    let results = new_results();
    let [large, small] = [open(&results, true), open(&results, true)];
    close(&large, usize::try_from(FIRST_CREDIT).unwrap() + 100);
    let sent: usize = std::iter::from_fn(|| next(&results)).map(|part| part.chunk.len()).sum();
    assert_eq!(sent as u64, FIRST_CREDIT);
    close(&small, 1);
    assert_eq!(next(&results).unwrap().operation, small.operation, "others have their own");
    results.acknowledge(ResultsDown::Credit(large.operation, FIRST_CREDIT + 60));
    assert_eq!(next(&results).unwrap().chunk.len(), 60);
    results.acknowledge(ResultsDown::Credit(large.operation, FIRST_CREDIT + 1000));
    let last = next(&results).unwrap();
    assert_eq!((last.offset, last.chunk.len(), last.ending.unwrap().outcome), (FIRST_CREDIT + 60, 40, DONE));
}

#[tokio::test]
async fn a_read_waits_for_the_hub_and_ends_with_its_session() {
    let results = new_results();
    let writer = open(&results, false);
    let mut written = 0;
    while writer.send(vec![b'x'; RESULT_PIECE_BYTES].into()).now_or_never() == Some(Ok(())) {
        written += RESULT_PIECE_BYTES;
        assert!(written < 8 * RESULT_PIECE_BYTES, "it is held at some point");
    }
    let mut waiting = Box::pin(writer.send(Bytes::from_static(b"more")));
    assert!((&mut waiting).now_or_never().is_none());
    assert!(next(&results).is_some());
    assert_eq!(waiting.await, Ok(()), "there is space again");
    results.end_session();
    assert_eq!(writer.send(Bytes::from_static(b"late")).await, Err(Gone));
    assert!(next(&results).is_none());
}

#[tokio::test]
async fn a_change_keeps_its_outcome_when_too_much_waits_for_the_hub() {
    let results = new_results();
    let [first, second] = [open(&results, true), open(&results, true)];
    close(&first, KEPT_BYTES / 2);
    close(&second, KEPT_BYTES / 2 + 1);
    let state = results.state.lock();
    let (lost, kept) = (&state.buffers[&first.operation], &state.buffers[&second.operation]);
    assert_eq!((lost.held(), kept.held()), (0, KEPT_BYTES / 2 + 1));
    assert!(lost.ending.is_some() && kept.ending.is_some());
}

#[tokio::test]
async fn an_agent_that_stops_waits_until_the_hub_has_the_results_of_changes() {
    let results = new_results();
    let read = open(&results, false);
    assert!(results.settled().now_or_never().is_some(), "what is read can be read again");
    let change = open(&results, true);
    close(&read, 1);
    close(&change, 1);
    let mut settled = Box::pin(results.settled());
    assert!((&mut settled).now_or_never().is_none());
    results.acknowledge(ResultsDown::Done(change.operation));
    settled.await;
}

#[tokio::test]
async fn a_read_that_was_cut_off_writes_nothing_into_the_next_one() {
    let results = new_results();
    let cut = open(&results, false);
    results.end_session();
    results.begin_session();
    let again = results.open(cut.operation, false, &CancellationToken::new()).expect("reads may come again");
    assert_eq!(cut.send(Bytes::from_static(b"old")).await, Err(Gone));
    close(&cut, 3);
    assert!(next(&results).is_none());
    close(&again, 5);
    assert_eq!(next(&results).unwrap().chunk.len(), 5);
}

#[tokio::test]
async fn an_unacknowledged_result_is_parked_until_its_id_comes_or_a_session_begins() {
    let retries = ResponseRetries { enabled: true, max_retries: 1, back_off_ms: 10 };
    let results = Arc::new(Results::new(retries));
    let change = open(&results, true);
    let operation = change.operation;
    close(&change, 5);
    let is_whole = |part: &ResultPart| (part.operation, part.chunk.len()) == (operation, 5);
    for _ in 0..2 {
        assert!(is_whole(&results.next().await), "it is sent, and once more");
    }
    let rests = || results.state.lock().buffers[&operation].parked;
    tokio::select! {
        part = results.next() => panic!("it is sent no more: {part:?}"),
        () = async { while !rests() { tokio::task::yield_now().await } } => {}
    }
    assert_eq!(results.len(), 0, "a parked result does not count");
    assert!(results.settled().now_or_never().is_some(), "a parked result is not waited for");

    assert!(results.open(operation, true, &CancellationToken::new()).is_none(), "it is not done again");
    assert!(next(&results).is_some_and(|part| is_whole(&part)), "with its body");
    results.end_session();
    results.begin_session();
    assert!(next(&results).is_some_and(|part| is_whole(&part)));
    results.acknowledge(ResultsDown::Done(operation));
    assert!(results.state.lock().buffers.is_empty());
}
