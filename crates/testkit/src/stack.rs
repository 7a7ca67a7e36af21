//! Our own daemons as real processes, wired together as an operator would.
//!
//! ```text
//! Cluster ◀── AgentProcess ══ FaultProxy ══▶ HubProcess ──▶ Database
//! ```

mod agent;
mod hub;
mod operations;

use std::path::Path;

use anyhow::Context;

pub use agent::AgentProcess;
pub use hub::{HubProcess, StoredObject, Watch, WatchEvent};
pub use operations::{Operated, Operations};

/// Writes a configuration file for a daemon.
fn write_config(directory: &Path, name: &str, settings: &serde_json::Value) -> anyhow::Result<()> {
    // JSON is YAML.
    let text = serde_json::to_string_pretty(settings)?;
    std::fs::write(directory.join(name), text).with_context(|| format!("write {name}"))
}
