//! The commands as a person types them, against real hubs, agents and clusters.
//!
//! One binary, so that its tests share one API server and one server per database.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod completion;
mod config;
mod errors;
mod fleet;
mod get;
mod operate;
mod rest;
mod support;
