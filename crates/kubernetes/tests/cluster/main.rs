//! Tests on a real API server.

mod connections;
mod credentials;
mod discovery;
mod failures;
mod front;
mod impersonation;
mod lists;
mod merging;
mod paths;
mod proxies;
mod schema;
mod secrets;
mod support;
mod watching;
