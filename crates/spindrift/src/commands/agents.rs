//! `spindrift agents`: lists the connected agents and their accounts.

use clap::Args;
use jiff::Timestamp;
use spindrift_printer::since;

use super::{
    Context,
    listing::{ListFlags, ListItem, ListPrinter, or_none},
};
use crate::hub::Agent;

const EXAMPLES: &str = "Examples:
  # List all connected agents
  spindrift agents

  # List all connected agents with more information
  spindrift agents -o wide";

/// Display the connected agents.
///
/// Prints a table of the agents that are connected to any hub, with the accounts that they cache.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift agents [options]")]
pub(crate) struct Agents {
    #[command(flatten)]
    show: ListFlags,
    /// After listing the requested objects, watch for changes.
    #[arg(short, long)]
    watch: bool,
}

/// Maximum number of account names in a cell; an agent may have a thousand.
const NAMED: usize = 5;

// === impl Agents ===

impl Agents {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let hub = context.hub()?;
        let mut listing = ListPrinter::new(self.show, context);
        if self.watch {
            return listing.watch(async || hub.agents().await, context).await;
        }
        let nothing = "No agents found: check clouddriver.grpc of your agents, or run: spindrift-agent check";
        listing.print(&hub.agents().await?, nothing, context)
    }
}

// === impl Agent ===

impl ListItem for Agent {
    const COLUMNS: &[&str] = &["NAME", "VERSION", "HUB", "ACCOUNTS", "CONNECTED", "SEEN", "ZONE", "CACHES"];
    const NARROW: usize = 6;

    fn name(&self) -> String {
        self.name.clone()
    }

    /// An agent that reconnects is listed twice for a while.
    fn key(&self) -> String {
        format!("{} {} {}", self.name, self.hub, self.connected_at)
    }

    fn cells(&self, now: Timestamp) -> Vec<String> {
        let mut caches = self.accounts.iter().take(NAMED).cloned().collect::<Vec<_>>().join(",");
        if self.accounts.len() > NAMED {
            caches.push_str(",…");
        }
        vec![
            self.name.clone(),
            or_none(Some(&self.version)),
            self.hub.clone(),
            self.accounts.len().to_string(),
            since(now, &self.connected_at),
            since(now, &self.last_seen),
            or_none(self.zone.as_deref()),
            or_none(Some(&caches)),
        ]
    }

    fn change_marker(&self) -> String {
        let Self { version, hub, connected_at, accounts, .. } = self;
        format!("{version} {hub} {connected_at} {accounts:?}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_sessions_of_one_agent_are_distinct() {
        let agent = |connected: &str| -> Agent {
            serde_json::from_value(json!({
                "name": "agent-0", "version": "1", "zone": null, "hub": "hub-0", "connectedAt": connected,
                "lastSeen": "2026-11-16T01:00:00Z", "accounts": ["main"],
            }))
            .unwrap()
        };
        let (old, new) = (agent("2026-11-16T00:00:00Z"), agent("2026-11-16T00:59:00Z"));
        assert_ne!(old.key(), new.key());
        assert_eq!(old.name(), new.name());
    }
}
