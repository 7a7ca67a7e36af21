//! Our own daemons as real processes, wired together as an operator would.
//!
//! ```text
//! Cluster ◀── AgentProcess ══ FaultProxy ══▶ HubProcess ──▶ Database
//! ```

mod agent;
mod hub;
mod operations;

use std::path::Path;

use anyhow::{Context, bail};

pub use agent::AgentProcess;
pub use hub::{HubProcess, StoredObject, Watch, WatchEvent};
pub use operations::{Operated, Operations};

/// Reads a counter or gauge from a page of `/metrics`. A series with labels that does not exist yet is zero.
fn metric(page: &str, name: &str) -> anyhow::Result<u64> {
    let found = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    match found {
        Some(number) => number.parse().with_context(|| format!("{name} is {number}")),
        None if name.contains('{') => Ok(0),
        None => bail!("{name} is not in {page}"),
    }
}

/// Writes a configuration file for a daemon.
fn write_config(directory: &Path, name: &str, settings: &serde_json::Value) -> anyhow::Result<()> {
    // JSON is YAML.
    let text = serde_json::to_string_pretty(settings)?;
    std::fs::write(directory.join(name), text).with_context(|| format!("write {name}"))
}
