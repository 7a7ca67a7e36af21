//! The agent: watches Kubernetes, and streams what changes to the hub. A pipe, not a cache: it keeps no objects.
//!
//! ```text
//! API server ──▶ watch (a state machine per scope; bodies arrive scrubbed) ──▶ uplink (batches, credit) ══gRPC══▶ hub
//!                   ▲                                                             │
//!                account (credentials, discovery)          board (what operators see) ──▶ endpoints
//!                   ▲
//! files ──▶ reload ──▶ roster (which accounts there are)
//! ```

pub mod accounts;
pub mod app;
pub mod check;
pub mod config;
pub mod endpoints;
pub mod metrics;
pub mod operate;
pub mod status;
pub mod uplink;
pub mod watch;

#[cfg(test)]
mod testing;

/// This build's release.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
