//! Signals reach the whole process, so this test has one of its own.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use nix::sys::signal::{Signal, raise};
use spindrift_process::shutdown::Shutdown;

#[tokio::test]
async fn first_signal_stops_and_second_does_not_wait() {
    let shutdown = Shutdown::new();
    shutdown.on_signals().unwrap();
    shutdown.spawn("deaf", pending::<Result<(), Infallible>>());

    raise(Signal::SIGTERM).unwrap();
    shutdown.token().cancelled().await;
    raise(Signal::SIGINT).unwrap();
    let error = shutdown.wait(Duration::from_hours(1)).await.unwrap_err();
    assert_eq!(error.to_string(), "still running after shutdown and aborted: deaf");
}
