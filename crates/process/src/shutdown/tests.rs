//! Ends of tasks, groups and processes.

use std::convert::Infallible;
use std::future::pending;

use tokio::sync::oneshot;

use super::*;

const GRACE: Duration = Duration::from_secs(5);

async fn until_cancelled(token: CancellationToken) -> Result<(), Infallible> {
    token.cancelled().await;
    Ok(())
}

#[tokio::test]
async fn trigger_ends_all_tasks_well() {
    let shutdown = Shutdown::new();
    shutdown.spawn("a", until_cancelled(shutdown.token()));
    shutdown.spawn("b", until_cancelled(shutdown.token()));
    shutdown.trigger();
    shutdown.wait(GRACE).await.unwrap();
}

async fn panics() -> Result<(), Infallible> {
    tokio::task::yield_now().await;
    panic!("at the disco")
}

#[tokio::test]
async fn failures_bring_the_process_down_by_name() {
    type Case = (fn(&Shutdown), &'static str);
    let cases: [Case; 3] = [
        (|shutdown| shutdown.spawn("watch.pods", async { Err("no route") }), "task watch.pods failed"),
        (|shutdown| shutdown.spawn("watch.pods", panics()), "task watch.pods panicked: at the disco"),
        (
            |shutdown| shutdown.spawn("watch.pods", async { Ok::<_, Infallible>(()) }),
            "task watch.pods ended before shutdown",
        ),
    ];
    for (spawn, message) in cases {
        let shutdown = Shutdown::new();
        shutdown.spawn("other", until_cancelled(shutdown.token()));
        spawn(&shutdown);
        assert_eq!(shutdown.wait(GRACE).await.unwrap_err().to_string(), message);
    }
}

#[tokio::test]
async fn tasks_that_do_not_end_are_named_and_aborted() {
    let shutdown = Shutdown::new();
    let (held_tx, held_rx) = oneshot::channel::<()>();
    shutdown.spawn("deaf", async move {
        let _held = held_tx;
        pending::<Result<(), Infallible>>().await
    });
    let group = shutdown.group("session 7");
    group.spawn("reader", pending::<Result<(), Infallible>>());
    shutdown.trigger();
    let error = shutdown.wait(Duration::from_millis(1)).await.unwrap_err();
    assert_eq!(error.to_string(), "still running after shutdown and aborted: deaf, session 7/reader");
    assert!(held_rx.await.is_err(), "aborting drops what the task held");
}

#[tokio::test]
async fn failure_while_stopping_is_reported() {
    let shutdown = Shutdown::new();
    let token = shutdown.token();
    shutdown.spawn("flush", async move {
        token.cancelled().await;
        Err::<(), _>("disk full")
    });
    shutdown.trigger();
    assert_eq!(shutdown.wait(GRACE).await.unwrap_err().to_string(), "task flush failed");
}

#[tokio::test]
async fn failure_in_a_group_ends_only_the_group() {
    let shutdown = Shutdown::new();
    let group = shutdown.group("account prod");
    group.spawn("watch", until_cancelled(group.token()));
    group.spawn("list", async { Err::<(), _>("forbidden") });
    assert_eq!(group.join().await.unwrap_err().to_string(), "task list failed");
    assert!(group.token().is_cancelled());
    assert!(!shutdown.token().is_cancelled());
}

#[tokio::test]
async fn group_task_that_ends_well_ends_nothing_else() {
    let group = Shutdown::new().group("session");
    let (done_tx, done_rx) = oneshot::channel();
    group.spawn("short", async move { done_tx.send(()).map_err(|()| "nobody waits") });
    group.spawn("long", until_cancelled(group.token()));
    done_rx.await.unwrap();
    assert!(!group.token().is_cancelled());
    group.cancel_and_wait().await.unwrap();
}

#[tokio::test]
async fn group_joins_when_all_its_tasks_are_done() {
    let group = Shutdown::new().group("session");
    group.spawn("short", async { Ok::<_, Infallible>(()) });
    group.join().await.unwrap();
}

#[tokio::test]
async fn dropping_or_stopping_above_cancels_a_group() {
    let shutdown = Shutdown::new();
    let dropped = shutdown.group("a");
    let inner = dropped.group("b");
    let (token, inner_token) = (dropped.token(), inner.token());
    drop(dropped);
    assert!(token.is_cancelled() && inner_token.is_cancelled());

    let stopped = shutdown.group("c");
    shutdown.trigger();
    assert!(stopped.token().is_cancelled());
}
