//! Waiting ends with the value, or with the reason.

use std::cell::Cell;
use std::time::Duration;

use spindrift_testkit::{eventually, free_port};

#[tokio::test]
async fn value_is_returned_once_the_attempt_succeeds() {
    let attempts = Cell::new(0);
    let value = eventually!("the third attempt succeeds", {
        attempts.set(attempts.get() + 1);
        (attempts.get() == 3).then_some("done")
    });
    assert_eq!((value, attempts.get()), ("done", 3));
}

#[tokio::test]
#[should_panic(expected = "the sun rises (crates/testkit/tests/eventually.rs")]
async fn panic_contains_description_and_location() {
    eventually!("the sun rises", Duration::from_millis(50), Err::<(), _>("still dark"));
}

#[tokio::test]
#[should_panic(expected = "last: \"still dark\"")]
async fn panic_contains_the_last_error() {
    eventually!("the sun rises", Duration::from_millis(50), Err::<(), _>("still dark"));
}

#[tokio::test]
#[should_panic(expected = "never returned")]
async fn attempt_that_hangs_is_given_up() {
    eventually!("the sun rises", Duration::from_millis(50), std::future::pending::<bool>().await);
}

#[test]
fn ports_are_given_once() {
    assert_ne!(free_port(), free_port());
}
