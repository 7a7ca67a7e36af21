//! Faults do what they say, and the agent's own library survives them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod follower;
mod refusals;
mod scripts;
mod support;
mod watches;
