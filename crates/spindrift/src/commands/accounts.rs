//! `spindrift accounts`: lists the accounts and the state of their caches; removes accounts without an agent.

use std::io::Write;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use spindrift_printer::since;

use super::{
    Context,
    listing::{ListFlags, ListItem, ListPrinter, or_none},
};
use crate::{complete, hub::Account};

const EXAMPLES: &str = "Examples:
  # List all accounts
  spindrift accounts

  # List all accounts with more information
  spindrift accounts -o wide

  # Watch the state of all accounts
  spindrift accounts --watch

  # Remove an account that no agent serves
  spindrift accounts forget eu-west";

const FORGET_EXAMPLES: &str = "Examples:
  # Remove an account that no agent serves
  spindrift accounts forget eu-west";

/// Display the accounts (clusters) of the hub.
///
/// Prints a table of the accounts: the agent that caches each one, the state of its cache, and problems.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    override_usage = "spindrift accounts [options]\n  spindrift accounts forget ACCOUNT ..."
)]
pub(crate) struct Accounts {
    #[command(subcommand)]
    action: Option<AccountsCommand>,
    #[command(flatten)]
    show: ListFlags,
    /// After listing the requested objects, watch for changes.
    #[arg(short, long)]
    watch: bool,
}

#[derive(Debug, Subcommand)]
enum AccountsCommand {
    /// Remove accounts that no agent serves, and their cached objects.
    ///
    /// The request fails if an agent is connected for the account.
    #[command(before_help = FORGET_EXAMPLES, override_usage = "spindrift accounts forget ACCOUNT ...")]
    Forget {
        /// Names of accounts.
        #[arg(
            required = true,
            value_name = "ACCOUNT",
            value_parser = NonEmptyStringValueParser::new(),
            add = ArgValueCompleter::new(complete::accounts)
        )]
        accounts: Vec<String>,
    },
}

// === impl Accounts ===

impl Accounts {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let hub = context.hub()?;
        if let Some(AccountsCommand::Forget { accounts }) = self.action {
            for account in accounts {
                hub.forget(&account).await?;
                writeln!(std::io::stdout().lock(), "account/{account} forgotten")?;
            }
            return Ok(());
        }
        let mut listing = ListPrinter::new(self.show, context);
        if self.watch {
            return listing.watch(async || hub.accounts().await, context).await;
        }
        let nothing = "No accounts found: no agent has registered any yet";
        listing.print(&hub.accounts().await?, nothing, context)
    }
}

// === impl Account ===

impl Account {
    /// State of the cache: `live`, `syncing`, `stale` or `unavailable`, with the number of listed and forbidden watches.
    pub(crate) fn state(&self) -> String {
        let Self { watches, listing, denied, .. } = self;
        let readable = watches.saturating_sub(*denied);
        let listed = readable.saturating_sub(*listing);
        let state = match self.cached_by {
            None if !self.unavailable.is_empty() => return "unavailable".into(),
            None => return "stale".into(),
            Some(_) if *listing > 0 || *watches == 0 => format!("syncing {listed}/{readable}"),
            Some(_) if *denied > 0 => format!("live {listed}/{readable}"),
            Some(_) => return "live".into(),
        };
        if *denied > 0 { format!("{state}, {denied} denied") } else { state }
    }

    /// Problems that an operator should look at, and the freeze.
    fn problems(&self) -> Option<String> {
        let frozen = self.frozen.as_ref().map(|frozen| match frozen.reason.as_str() {
            "" => "frozen".to_owned(),
            reason => format!("frozen: {reason}"),
        });
        let problems =
            if self.problems.is_empty() { self.problem.as_slice() } else { self.problems.as_slice() };
        let all: Vec<_> = problems.iter().cloned().chain(frozen).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

impl ListItem for Account {
    const COLUMNS: &[&str] = &[
        "NAME",
        "STATE",
        "AGENT",
        "HUB",
        "VERSION",
        "OBJECTS",
        "SEEN",
        "PROBLEM",
        "SERVER",
        "NAMESPACES",
        "SEQ",
    ];
    const NARROW: usize = 8;

    fn name(&self) -> String {
        self.name.clone()
    }

    fn cells(&self, now: Timestamp) -> Vec<String> {
        vec![
            self.name.clone(),
            self.state(),
            or_none(self.cached_by.as_deref()),
            or_none(self.hub.as_deref()),
            or_none(Some(&self.kubernetes_version)),
            self.objects.to_string(),
            since(now, &self.last_seen),
            or_none(self.problems().as_deref()),
            self.host.clone(),
            if self.namespaces.is_empty() { "<all>".into() } else { self.namespaces.join(",") },
            self.seq.to_string(),
        ]
    }

    fn change_marker(&self) -> String {
        let Self { kubernetes_version, objects, hub, cached_by, .. } = self;
        let problems = self.problems();
        format!("{} {kubernetes_version} {objects} {problems:?} {hub:?} {cached_by:?}", self.state())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn account(fields: &serde_json::Value) -> Account {
        let mut account = json!({
            "name": "main", "host": "", "kubernetesVersion": "", "namespaces": [], "cachedBy": "a", "seq": 1,
            "objects": 0, "watches": 1, "listing": 0, "lastSeen": "",
        });
        for (field, value) in fields.as_object().unwrap() {
            account[field] = value.clone();
        }
        serde_json::from_value(account).unwrap()
    }

    #[test]
    fn a_frozen_account_shows_the_reason() {
        let frozen = |reason: &str| json!({ "reason": reason, "since": "2026-11-16T08:00:00Z" });
        for (fields, expected) in [
            (json!({}), None),
            (json!({ "frozen": frozen("it moves") }), Some("frozen: it moves")),
            (json!({ "frozen": frozen("") }), Some("frozen")),
            (json!({ "frozen": frozen("it moves"), "problem": "two" }), Some("two; frozen: it moves")),
        ] {
            assert_eq!(account(&fields).problems().as_deref(), expected);
        }
    }

    #[test]
    fn forbidden_watches_are_not_counted_as_syncing() {
        for (agent, watches, listing, denied, expected) in [
            (Some("a"), 12, 0, 0, "live"),
            (Some("a"), 12, 0, 1, "live 11/11, 1 denied"),
            (Some("a"), 12, 3, 1, "syncing 8/11, 1 denied"),
            (Some("a"), 12, 4, 0, "syncing 8/12"),
            (Some("a"), 0, 0, 0, "syncing 0/0"),
            (None, 12, 0, 1, "stale"),
        ] {
            let account = account(
                &json!({ "cachedBy": agent, "watches": watches, "listing": listing, "denied": denied }),
            );
            assert_eq!(account.state(), expected);
        }
    }
}
