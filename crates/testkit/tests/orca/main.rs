//! The player of Orca does what the recorded Orca did.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod casts;
mod executions;
