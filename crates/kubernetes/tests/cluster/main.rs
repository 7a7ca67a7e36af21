//! Against a real API server: what the crate promises is what a cluster does.

mod discovery;
mod failures;
mod lists;
mod secrets;
mod support;
mod watching;
