//! Operations against a real API server: the executor with its verbs, as a session sees it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "a test that cannot go on has failed; what it asks for is written where it is asked"
)]

mod delete;
mod executor;
mod failures;
mod kinds;
mod logs;
mod manifests;
mod reach;
mod reading;
mod rollout;
mod scale;
mod support;
mod top;
