//! Foundation of both daemons: configuration, logging, TLS, listening, tasks, shutdown.
//!
//! ```text
//! config ─▶ logging ─▶ tls ─▶ serve ─▶ shutdown::wait
//! files,    level,     PEM    accept,  tasks with names,
//! env       format     files  sniff    drained at the end
//! ```
//!
//! Besides these: `readiness`, `metrics`, `proxy` (outgoing connections), `backoff`, `schedule` (cron), `supervisor` (restarts of
//! tasks), `fair_semaphore` (queues that take turns) and `check`, the preflight check of a daemon.

#![warn(missing_docs)]

pub mod allocator;
pub mod backoff;
pub mod check;
pub mod config;
pub mod daemon;
pub mod fair_semaphore;
pub mod logging;
pub mod metrics;
pub mod open_files;
pub mod private_file;
pub mod program;
pub mod proxy;
pub mod readiness;
mod report;
pub mod schedule;
pub mod serve;
pub mod shutdown;
pub mod supervisor;
pub mod tls;

mod file_uri;
mod nearest;

pub use nearest::nearest;
pub use report::report;

#[cfg(test)]
mod testing;
