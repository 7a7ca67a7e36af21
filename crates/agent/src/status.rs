//! What operators see of the agent: accounts with their state and problems, watches with theirs.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use parking_lot::RwLock;
use serde::Serialize;
use spindrift_model::{AccountName, Scope};

/// Problems kept per account; the newest push out the oldest.
const PROBLEMS: usize = 20;

/// The shared board; every part of the agent writes its own lines, the endpoints read.
#[derive(Debug, Clone, Default)]
pub struct Board {
    accounts: Arc<RwLock<BTreeMap<String, AccountLines>>>,
}

#[derive(Debug, Default)]
struct AccountLines {
    state: AccountState,
    error: Option<String>,
    caching: bool,
    kinds: Vec<String>,
    watches: BTreeMap<Scope, WatchLine>,
    problems: VecDeque<String>,
    unparseable: u64,
    rejected: u64,
}

/// The state of an account, in the original's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum AccountState {
    /// Its configuration was read; its API server has not answered yet.
    #[default]
    ConfigLoaded,
    /// It is discovered.
    Healthy,
    /// It cannot be used now.
    DiscoveryError,
}

/// The state of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WatchState {
    /// It waits for its turn to be listed.
    Queued,
    /// A complete listing is under way.
    Listing,
    /// Changes are followed.
    Watching,
    /// The stream ended; the API server is asked to go on where it did.
    Resuming,
    /// The credentials do not allow it.
    Denied,
    /// It failed, and waits before it tries again.
    Waiting,
}

/// One watch.
#[derive(Debug, Clone, Serialize)]
pub struct WatchLine {
    /// What it does.
    #[serde(skip)]
    pub state: WatchState,
    /// Complete listings so far.
    pub listings: u64,
    /// Why it does not watch, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One account, as `/accounts` shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct AccountView {
    /// How it was configured.
    pub config: ConfigView,
    /// How it is.
    pub state: StateView,
    /// The kinds that are cached.
    pub kinds: Vec<String>,
    /// Whether this agent caches it now.
    pub caching: bool,
    /// What the credentials do not allow to read, and why.
    pub denied: Vec<String>,
    /// The newest problems, oldest first.
    pub problems: Vec<String>,
    /// Events that could not be read.
    pub unparseable_events: u64,
    /// Objects that the hub's store would not take.
    pub rejected_objects: u64,
}

/// `Config` of an account.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ConfigView {
    /// Its name.
    pub name: String,
    /// Whether it came from the hub; not yet.
    pub dynamic: bool,
}

/// `State` of an account.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct StateView {
    /// In one word.
    pub name: AccountState,
    /// What is wrong, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One line of `/watches`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchView {
    kind: String,
    group: String,
    namespace: String,
    #[serde(flatten)]
    line: WatchLine,
}

/// How far the first listing of an account has got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Its name.
    pub account: String,
    /// Scopes that are followed.
    pub watching: usize,
    /// Scopes that cannot be read: the credentials do not allow it, or the API server fails.
    pub unreadable: usize,
    /// All scopes that it has; zero before they are known.
    pub scopes: usize,
    /// Why it cannot be used now, if so.
    pub error: Option<String>,
}

// === impl Board ===

impl Board {
    /// Changes the lines of an account that is configured; what is still said of one that has left is of no interest.
    fn write(&self, account: &str, change: impl FnOnce(&mut AccountLines)) {
        if let Some(lines) = self.accounts.write().get_mut(account) {
            change(lines);
        }
    }

    /// An account was configured.
    pub fn configured(&self, account: &str) {
        self.accounts.write().entry(account.to_owned()).or_default();
    }

    /// An account is no longer configured.
    pub fn removed(&self, account: &str) {
        self.accounts.write().remove(account);
    }

    /// An account's API server answered.
    pub fn discovered(&self, account: &str) {
        self.write(account, |lines| (lines.state, lines.error) = (AccountState::Healthy, None));
    }

    /// An account cannot be used now.
    pub fn failed(&self, account: &str, error: String) {
        self.write(account, |lines| (lines.state, lines.error) = (AccountState::DiscoveryError, Some(error)));
    }

    /// Something the operator should see, though the account works.
    pub fn problem(&self, account: &AccountName, problem: String) {
        self.write(account.as_str(), |lines| {
            // What is said again is not another one: it would drive out what was said once.
            lines.problems.retain(|known| *known != problem);
            lines.problems.push_back(problem);
            if lines.problems.len() > PROBLEMS {
                lines.problems.pop_front();
            }
        });
    }

    /// An event could not be read.
    pub fn unparseable(&self, account: &AccountName) {
        self.write(account.as_str(), |lines| lines.unparseable += 1);
    }

    /// The hub's store would not take objects.
    pub fn rejected(&self, account: &AccountName, count: usize) {
        self.write(account.as_str(), |lines| lines.rejected += count as u64);
    }

    /// What this agent caches of the account from here on; its watches begin anew.
    pub fn caching(&self, account: &AccountName, kinds: Vec<String>) {
        self.write(account.as_str(), |lines| {
            lines.caching = true;
            lines.kinds = kinds;
        });
    }

    /// This agent no longer caches the account.
    pub fn not_caching(&self, account: &AccountName) {
        self.write(account.as_str(), |lines| {
            lines.caching = false;
            lines.watches.clear();
        });
    }

    /// A watch is in this state; what one still says whose account was let go is of no interest.
    pub fn watch(&self, account: &AccountName, scope: &Scope, state: WatchState, error: Option<String>) {
        self.write(account.as_str(), |lines| {
            if !lines.caching {
                return;
            }
            let line = WatchLine { state, listings: 0, error: None };
            let line = lines.watches.entry(scope.clone()).or_insert(line);
            line.listings += u64::from(state == WatchState::Listing);
            (line.state, line.error) = (state, error);
        });
    }

    /// A watch has ended for good.
    pub fn unwatched(&self, account: &AccountName, scope: &Scope) {
        self.write(account.as_str(), |lines| {
            lines.watches.remove(scope);
        });
    }

    /// All accounts.
    pub fn accounts(&self) -> Vec<AccountView> {
        let view = |(name, lines): (&String, &AccountLines)| AccountView {
            config: ConfigView { name: name.clone(), dynamic: false },
            state: StateView { name: lines.state, error: lines.error.clone() },
            kinds: lines.kinds.clone(),
            caching: lines.caching,
            denied: lines.denied().collect(),
            problems: lines.problems.iter().cloned().collect(),
            unparseable_events: lines.unparseable,
            rejected_objects: lines.rejected,
        };
        self.accounts.read().iter().map(view).collect()
    }

    /// All watches, by account and state.
    pub fn watches(&self) -> BTreeMap<String, BTreeMap<WatchState, Vec<WatchView>>> {
        let mut watches = BTreeMap::new();
        for (account, lines) in self.accounts.read().iter() {
            let states: &mut BTreeMap<_, Vec<_>> = watches.entry(account.clone()).or_default();
            for (scope, line) in &lines.watches {
                let namespace = scope.namespace.as_deref().unwrap_or("(all namespaces)").to_owned();
                let view = WatchView {
                    kind: scope.kind.to_string(),
                    group: scope.group.to_string(),
                    namespace,
                    line: line.clone(),
                };
                states.entry(line.state).or_default().push(view);
            }
        }
        watches
    }

    /// How far each account has got, by name.
    pub fn progress(&self) -> Vec<Progress> {
        let count =
            |lines: &AccountLines, state| lines.watches.values().filter(|line| line.state == state).count();
        let progress = |(account, lines): (&String, &AccountLines)| Progress {
            account: account.clone(),
            watching: count(lines, WatchState::Watching),
            unreadable: count(lines, WatchState::Denied) + count(lines, WatchState::Waiting),
            scopes: if lines.caching { lines.kinds.len().max(lines.watches.len()) } else { 0 },
            error: lines.error.clone(),
        };
        self.accounts.read().iter().map(progress).collect()
    }

    /// How many watches are in which state.
    pub fn watch_counts(&self) -> BTreeMap<WatchState, usize> {
        let mut counts = BTreeMap::new();
        for line in self.accounts.read().values().flat_map(|lines| lines.watches.values()) {
            *counts.entry(line.state).or_default() += 1;
        }
        counts
    }

    /// How many accounts cannot be used now.
    pub fn failed_accounts(&self) -> usize {
        self.accounts.read().values().filter(|lines| lines.state == AccountState::DiscoveryError).count()
    }
}

// === impl AccountLines ===

impl AccountLines {
    fn denied(&self) -> impl Iterator<Item = String> {
        let denied = self.watches.iter().filter(|(_, line)| line.state == WatchState::Denied);
        denied.map(|(scope, line)| format!("{scope}: {}", line.error.as_deref().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> (Board, AccountName) {
        let board = Board::default();
        board.configured("main");
        (board, AccountName::parse("main").unwrap())
    }

    #[test]
    fn problems_that_alternate_drive_out_no_others() {
        let (board, main) = board();
        board.problem(&main, "once".into());
        for group in ["a", "b"].repeat(PROBLEMS) {
            board.problem(&main, group.into());
        }
        assert_eq!(board.accounts()[0].problems, ["once", "a", "b"]);
    }

    #[test]
    fn nothing_is_shown_of_watches_whose_account_was_let_go() {
        let (board, main) = board();
        let scope = Scope { group: "".into(), kind: "Pod".into(), namespace: None };
        board.caching(&main, vec!["Pod".into()]);
        board.watch(&main, &scope, WatchState::Watching, None);
        assert_eq!(board.watch_counts().len(), 1);
        board.not_caching(&main);
        board.watch(&main, &scope, WatchState::Resuming, None);
        assert!(board.watch_counts().is_empty());
    }
}
