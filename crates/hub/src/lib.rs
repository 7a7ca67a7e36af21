//! The hub: what agents report comes in by gRPC, is committed to SQL, and goes out by REST.
//!
//! ```text
//! agent ══gRPC══▶ session ──▶ ingest ──▶ store ──▶ rest ──▶ people, scripts, Spinnaker
//! agent ◀══gRPC══ session ◀────────── dispatch ◀── rest ◀── what they ask for
//! ```

pub mod app;
pub mod check;
pub mod clouddriver;
pub mod config;
pub mod dispatch;
mod hex;
pub mod ingest;
pub mod metrics;
pub mod rest;
mod schedule;
pub mod session;
pub mod store;

/// This build's release.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
