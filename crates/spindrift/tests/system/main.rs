//! The whole path, as real processes: kube-apiserver → agent → hub → database → REST.
//!
//! One binary, so that its tests share one API server and one server per database.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod channels;
mod isolation;
mod live;
mod proxies;
mod recovery;
mod secrets;
mod support;
mod up;
mod wrong_port;
