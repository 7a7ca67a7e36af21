//! Waiting on a condition, the only kind of waiting that tests do.

use std::fmt::Debug;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

/// Default duration of a wait: long for a loaded machine, short for a person.
pub const PATIENCE: Duration = Duration::from_secs(30);

const INTERVAL: Duration = Duration::from_millis(25);

/// Result of one look at a condition: a `bool`, an `Option` or a `Result`.
///
/// Beware of `Result<bool, _>`: `Ok(false)` is a success like any other `Ok`.
pub trait Attempt {
    /// Value of the wait once the condition holds.
    type Value;

    /// The value, or why there is none yet.
    fn outcome(self) -> Result<Self::Value, String>;
}

/// Waits until the attempt succeeds; panics with the description and the last failure when `within` has passed.
#[expect(clippy::panic, reason = "an assertion")]
pub async fn eventually<A: Attempt, F: Future<Output = A>>(
    what: &str,
    within: Duration,
    attempt: impl FnMut() -> F,
) -> A::Value {
    match poll(within, attempt).await {
        Ok(value) => value,
        Err(last) => panic!("not within {within:?}: {what}; last: {last}"),
    }
}

/// Waits until an expression (which may `.await`) is true, `Some` or `Ok`, and returns its value.
///
/// `eventually!("the pod is gone", pods.get_opt("x").await?.is_none())`, with a [`Duration`] in the middle if
/// [`PATIENCE`] does not fit.
#[macro_export]
macro_rules! eventually {
    ($what:expr, $attempt:expr $(,)?) => {
        $crate::eventually!($what, $crate::PATIENCE, $attempt)
    };
    ($what:expr, $within:expr, $attempt:expr $(,)?) => {
        $crate::eventually(&format!("{} ({}:{})", $what, file!(), line!()), $within, || async { $attempt })
            .await
    };
}

/// Like [`eventually`], for those who want the last failure rather than a panic.
pub(crate) async fn poll<A: Attempt, F: Future<Output = A>>(
    within: Duration,
    mut attempt: impl FnMut() -> F,
) -> Result<A::Value, String> {
    let deadline = Instant::now() + within;
    let mut last = "the first attempt never returned".to_owned();
    while let Ok(attempted) = timeout_at(deadline, attempt()).await {
        match attempted.outcome() {
            Ok(value) => return Ok(value),
            Err(failure) => last = failure,
        }
        // An attempt that is ready at once beats even a timeout that has passed.
        if Instant::now() >= deadline {
            break;
        }
        sleep(INTERVAL).await;
    }
    Err(last)
}

// === impl Attempt ===

impl Attempt for bool {
    type Value = ();

    fn outcome(self) -> Result<(), String> {
        self.then_some(()).ok_or_else(|| "false".to_owned())
    }
}

impl<T> Attempt for Option<T> {
    type Value = T;

    fn outcome(self) -> Result<T, String> {
        self.ok_or_else(|| "none".to_owned())
    }
}

impl<T, E: Debug> Attempt for Result<T, E> {
    type Value = T;

    fn outcome(self) -> Result<T, String> {
        self.map_err(|error| format!("{error:?}"))
    }
}
