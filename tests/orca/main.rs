//! The player of Orca behaves as the recorded Orca did.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::needless_pass_by_value, reason = "`json!` is written where it is used")]

mod casts;
mod executions;
