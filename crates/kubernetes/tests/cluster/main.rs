//! Against a real API server: what the crate promises is what a cluster does.

mod connections;
mod credentials;
mod discovery;
mod failures;
mod front;
mod impersonation;

mod lists;
mod merging;
mod proxies;
mod schema;
mod secrets;
mod support;
mod watching;
