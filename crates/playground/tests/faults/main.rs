//! Faults have their documented effects, and the agent's Kubernetes client survives them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod follower;
mod refusals;
mod scripts;
mod support;
mod watches;
