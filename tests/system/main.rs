//! The whole path, as real processes: kube-apiserver → agent → hub → database → REST.
//!
//! One binary, so that its tests share one API server and one server per database.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::needless_pass_by_value, reason = "`json!` is written where it is used")]

mod assume;
mod attachments;
mod bearer;
mod channels;
mod clouddriver;
mod credentials;
mod cross_site;
mod endpoints;
mod engine;
mod hub_metrics;
mod invalid_requests;
mod isolation;
mod kinds;
mod live;
mod load;
mod logging;
mod memory;
mod minimal;
mod operations;
mod permissions;
mod plain_proxy;
mod pressure;
mod proxies;
mod query;
mod quickstart;
mod recovery;
mod redact;
mod refusals;
mod reload;
mod scripted_agent;
mod secrets;
mod service_account;
mod sessions;
mod settings;
mod stall;
mod starting;
mod support;
mod tasks;
mod unavailable;
mod uncached;
mod unresolved;
mod up;
mod upstream;
mod wire;
mod wrong_port;
