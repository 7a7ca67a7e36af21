//! The whole path, as real processes: kube-apiserver → agent → hub → database → REST.
//!
//! One binary, so that its tests share one API server and one server per database.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod channels;
mod engine;
mod isolation;
mod kinds;
mod live;
mod permissions;
mod memory;
mod pressure;
mod recovery;
mod redact;
mod secrets;
mod starting;
mod support;
mod up;
mod wire;
mod wrong_port;
