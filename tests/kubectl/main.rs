//! `spindrift get` beside the real `kubectl get`, on the same real cluster: the same text, the same objects.
//!
//! The one exception is Secrets, of which the hub has only the metadata.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod accounts;
mod describe;
mod documents;
mod errors;
mod fleet;
mod selection;
mod tables;
mod terminal;
mod watch;
