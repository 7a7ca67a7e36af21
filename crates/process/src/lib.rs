//! What both daemons need to be good processes.
//!
//! ```text
//! config ─▶ logging ─▶ tls ─▶ serve ─▶ shutdown::wait
//! files,    level,     PEM    accept,  tasks with names,
//! env       format     files  sniff    drained at the end
//! ```
//!
//! Beside that way lie `readiness` (what is still awaited), `metrics` (what a scrape shows), `proxy` (the way out),
//! `backoff` (how long to wait before the next attempt) and `fair_semaphore` (a semaphore whose queues take turns). `check` is
//! for the day on which something does not work: what is right, what is wrong, and what to do about it.

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
pub mod serve;
pub mod shutdown;
pub mod supervisor;
pub mod tls;

mod file_uri;

pub use report::report;

#[cfg(test)]
mod testing;
