//! The hub: receives the state of clusters from agents by gRPC, commits it to SQL, and serves it by REST.
//!
//! ```text
//! state:      agent ══gRPC══▶ session ──▶ ingest ──▶ store ──▶ rest, clouddriver ──▶ people, scripts, Spinnaker
//! operations: agent ◀══gRPC══ session ◀── dispatch ◀────────── rest, clouddriver ◀── requests
//! ```

pub mod session;

pub mod ingest;

pub mod store;

pub mod dispatch;

pub mod rest;

pub mod clouddriver;

mod account_limits;
pub mod app;
pub mod check;
pub mod config;
mod hex;
mod http_client;
pub mod metrics;

/// Release of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
