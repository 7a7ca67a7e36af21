//! Progress bars of the first sync, one for each cluster.

use std::{collections::HashMap, fmt, io::IsTerminal, time::Duration};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use spindrift_agent::status::{AgentStatus, Progress as Listed};
use tokio::time::{self, MissedTickBehavior};

use super::say;
use crate::{commands::Context, hub::Client};

/// Interval of the bars.
const REFRESH: Duration = Duration::from_millis(150);
/// Maximum number of bars; more would scroll the addresses off the screen, so one bar shows the total.
const MOST_BARS: usize = 16;
const BAR_WIDTH: usize = 24;

/// Shows the progress of the clusters until all are listed.
pub(super) struct SyncProgress {
    status: AgentStatus,
    hub: Client,
    /// Set if lines can be redrawn; else each is written once, when its cluster is listed.
    terminal: bool,
    color: bool,
}

/// Progress of a cluster.
struct AccountProgress {
    listed: Listed,
    /// Objects in the hub.
    objects: u64,
    /// Scopes that the hub has completely.
    listed_whole: u64,
}

// === impl SyncProgress ===

impl SyncProgress {
    pub(super) fn new(status: AgentStatus, hub: Client, context: &Context) -> Self {
        Self { status, hub, terminal: std::io::stdout().is_terminal(), color: context.color }
    }

    /// Returns when every cluster is listed or unavailable.
    pub(super) async fn show(self) {
        let accounts = self.status.progress();
        let widest = accounts.iter().map(|listed| listed.account.len()).max().unwrap_or_default();
        let screen = MultiProgress::with_draw_target(ProgressDrawTarget::stdout());
        let mut bars: HashMap<String, ProgressBar> = HashMap::new();
        let draw = |name: &str| screen.add(bar(name, widest, self.color));
        if self.terminal && accounts.len() <= MOST_BARS {
            bars.extend(accounts.iter().map(|listed| (listed.account.clone(), draw(&listed.account))));
        }
        let whole = (self.terminal && bars.is_empty()).then(|| draw("all clusters"));
        let mut said = Vec::new();
        // Counting the objects of many clusters is expensive for the hub.
        let mut interval = time::interval(if whole.is_some() { REFRESH * 6 } else { REFRESH });
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            let accounts = self.accounts().await;
            for account in &accounts {
                if let Some(bar) = bars.get(&account.listed.account) {
                    account.draw(bar);
                } else if account.settled() && whole.is_none() && !said.contains(&account.listed.account) {
                    say(&format!("  {:widest$}  {account}\n", account.listed.account));
                    said.push(account.listed.account.clone());
                }
            }
            if let Some(whole) = &whole {
                whole.set_length(accounts.len() as u64);
                whole.set_position(accounts.iter().filter(|account| account.settled()).count() as u64);
                let objects: u64 = accounts.iter().map(|account| account.objects).sum();
                whole.set_message(format!("{} clusters, {objects} objects", accounts.len()));
            }
            if accounts.iter().all(AccountProgress::settled) {
                break;
            }
        }
        for bar in bars.values().chain(&whole) {
            bar.abandon();
        }
        if self.terminal {
            // The last bar has no line break.
            say("\n");
        }
    }

    /// Progress of each account; without objects while the hub does not respond.
    async fn accounts(&self) -> Vec<AccountProgress> {
        let stored = self.hub.accounts().await.unwrap_or_default();
        let stored: HashMap<_, _> =
            stored.into_iter().map(|account| (account.name.clone(), account)).collect();
        let account = |listed: Listed| {
            let stored = stored.get(&listed.account);
            AccountProgress {
                objects: stored.map_or(0, |account| account.objects),
                listed_whole: stored
                    .map_or(0, |account| account.watches.saturating_sub(account.listing + account.denied)),
                listed,
            }
        };
        self.status.progress().into_iter().map(account).collect()
    }
}

// === impl AccountProgress ===

impl AccountProgress {
    /// Whether the account is complete: the agent has sent all objects, and the hub has stored them.
    fn settled(&self) -> bool {
        let Listed { watching, unreadable, scopes, error, .. } = &self.listed;
        error.is_some()
            || (*watching > 0 && watching + unreadable == *scopes && self.listed_whole >= *watching as u64)
    }

    fn draw(&self, bar: &ProgressBar) {
        let Listed { watching, unreadable, scopes, .. } = self.listed;
        bar.set_length(scopes.max(1) as u64);
        bar.set_position((watching + unreadable) as u64);
        bar.set_message(self.to_string());
    }
}

impl fmt::Display for AccountProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Listed { unreadable, scopes, error, .. } = &self.listed;
        match (error, scopes) {
            (Some(error), _) => write!(f, "unavailable: {error}"),
            (None, 0) => f.write_str("discovering API resources"),
            (None, _) if *unreadable > 0 => {
                let kinds = scopes - unreadable;
                write!(f, "{kinds} kinds, {} objects; {unreadable} kinds cannot be read", self.objects)
            }
            (None, _) => write!(f, "{scopes} kinds, {} objects", self.objects),
        }
    }
}

fn bar(name: &str, widest: usize, color: bool) -> ProgressBar {
    let color = if color { ".cyan/dim" } else { "" };
    let template = format!("  {{prefix:{widest}}}  {{bar:{BAR_WIDTH}{color}}}  {{wide_msg}}");
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(1).with_style(style.progress_chars("━╸─")).with_prefix(name.to_owned())
}
