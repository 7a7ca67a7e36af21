//! The agent: watches Kubernetes, and streams changes to the hub. It keeps no objects.
//!
//! ```text
//! files ──▶ config ──▶ accounts (configured, reloaded, prepared until their API server responds)
//!                         │
//!                         ▼              items
//! API server ──▶ watch (a state machine per scope) ──▶ uplink (session, flow control, batches) ◀══gRPC══▶ hub
//!                         ▲                            │     │
//!                         └──── attached accounts ─────┘     └──▶ operate (operations of the hub) ──▶ API server
//!
//! all of them ──▶ status, metrics ──▶ endpoints
//! ```
//!
//! `app` builds the parts and joins them by channels; `check` is the preflight check.

pub mod config;

pub mod accounts;

pub mod watch;

pub mod uplink;

pub mod operate;

pub mod status;

pub mod metrics;

pub mod endpoints;

pub mod app;

pub mod check;

#[cfg(test)]
mod testing;

/// Release of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
