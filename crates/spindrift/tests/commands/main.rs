//! The commands as a person types them, against real hubs and agents.
//!
//! One binary, so that its tests share one API server: most compare their output with that of the real kubectl, which
//! needs a real API server, too.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod completion;
mod config;
mod errors;
mod fleet;
mod get;
mod help;
mod operate;
mod support;
