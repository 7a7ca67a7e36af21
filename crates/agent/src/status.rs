//! Status of the agent for operators: accounts with their state and problems, watches with theirs.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use parking_lot::RwLock;
use serde::Serialize;
use spindrift_model::{AccountName, Scope, UnavailableAccount};
use tokio::sync::watch;

/// Problems kept per account; the newest replace the oldest.
const PROBLEMS: usize = 20;

/// Status that all parts of the agent write and the endpoints read.
#[derive(Debug, Clone, Default)]
pub struct AgentStatus {
    accounts: Arc<RwLock<BTreeMap<String, AccountStatus>>>,
    /// Accounts that cannot be used now, for the hub.
    unavailable_tx: Arc<watch::Sender<Vec<UnavailableAccount>>>,
}

#[derive(Debug, Default)]
struct AccountStatus {
    state: AccountState,
    error: Option<String>,
    caching: bool,
    kinds: Vec<String>,
    watches: BTreeMap<Scope, WatchStatus>,
    problems: VecDeque<String>,
    unparseable: u64,
    rejected: u64,
}

/// State of an account, in the words of the Armory agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum AccountState {
    /// Its configuration was read; its API server has not responded yet.
    #[default]
    ConfigLoaded,
    /// Its API server has responded.
    Healthy,
    /// It cannot be used now.
    DiscoveryError,
}

/// State of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WatchState {
    /// It waits for the permit to list.
    Queued,
    /// A complete list is running.
    Listing,
    /// Changes are reported.
    Watching,
    /// The stream ended; a watch from its last version is being opened.
    Resuming,
    /// The credentials do not allow it.
    Denied,
    /// It failed, and waits before the next attempt.
    Waiting,
}

/// Status of one watch.
#[derive(Debug, Clone, Serialize)]
pub struct WatchStatus {
    /// Its state.
    #[serde(skip)]
    pub state: WatchState,
    /// Complete lists so far.
    pub listings: u64,
    /// Reason for which it does not watch, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One account, as `/accounts` shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct AccountView {
    /// Its configuration.
    pub config: ConfigView,
    /// Its state.
    pub state: StateView,
    /// Kinds that are cached.
    pub kinds: Vec<String>,
    /// Set while this agent caches it.
    pub caching: bool,
    /// Scopes that the credentials do not allow, with the reason.
    pub denied: Vec<String>,
    /// Newest problems, oldest first.
    pub problems: Vec<String>,
    /// Number of events that could not be parsed.
    pub unparseable_events: u64,
    /// Number of objects that the hub's store rejected.
    pub rejected_objects: u64,
}

/// `Config` of an account.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ConfigView {
    /// Its name.
    pub name: String,
    /// Set if it came from the hub; not supported yet.
    pub dynamic: bool,
}

/// `State` of an account.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct StateView {
    /// Name of the state.
    pub name: AccountState,
    /// Reason for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One watch of `/watches`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchView {
    kind: String,
    group: String,
    namespace: String,
    #[serde(flatten)]
    status: WatchStatus,
}

/// Progress of the first lists of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Its name.
    pub account: String,
    /// Scopes that are watched.
    pub watching: usize,
    /// Scopes that cannot be read: the credentials do not allow it, or the API server fails.
    pub unreadable: usize,
    /// All its scopes; zero before they are known.
    pub scopes: usize,
    /// Reason for which it cannot be used now, if so.
    pub error: Option<String>,
}

// === impl AgentStatus ===

impl AgentStatus {
    /// Changes the status of a configured account; ignores one that was removed.
    fn write(&self, account: &str, change: impl FnOnce(&mut AccountStatus)) {
        if let Some(status) = self.accounts.write().get_mut(account) {
            change(status);
        }
    }

    /// Adds a configured account.
    pub fn configured(&self, account: &str) {
        self.accounts.write().entry(account.to_owned()).or_default();
    }

    /// Removes an account that is no longer configured.
    pub fn removed(&self, account: &str) {
        self.accounts.write().remove(account);
        self.publish();
    }

    /// Records that an account's API server responded.
    pub fn discovered(&self, account: &str) {
        self.write(account, |account| (account.state, account.error) = (AccountState::Healthy, None));
        self.publish();
    }

    /// Records that an account cannot be used now.
    pub fn failed(&self, account: &str, error: String) {
        self.write(account, |account| {
            (account.state, account.error) = (AccountState::DiscoveryError, Some(error));
        });
        self.publish();
    }

    /// Returns the accounts that cannot be used now, and their changes. One whose name is invalid is not among them.
    pub fn unavailable(&self) -> watch::Receiver<Vec<UnavailableAccount>> {
        self.unavailable_tx.subscribe()
    }

    /// Publishes the accounts that cannot be used now, if they have changed.
    fn publish(&self) {
        let unavailable = |(name, account): (&String, &AccountStatus)| {
            let reason = account.error.clone().filter(|_| account.state == AccountState::DiscoveryError)?;
            Some(UnavailableAccount { name: AccountName::parse(name).ok()?, reason })
        };
        let current: Vec<_> = self.accounts.read().iter().filter_map(unavailable).collect();
        self.unavailable_tx.send_if_modified(|published| {
            let changed = *published != current;
            *published = current;
            changed
        });
    }

    /// Adds a problem of an account that works otherwise.
    pub fn problem(&self, account: &AccountName, problem: String) {
        self.write(account.as_str(), |account| {
            // A repeated problem counts once, so that it does not replace others.
            account.problems.retain(|known| *known != problem);
            account.problems.push_back(problem);
            if account.problems.len() > PROBLEMS {
                account.problems.pop_front();
            }
        });
    }

    /// Counts an event that could not be parsed.
    pub fn unparseable(&self, account: &AccountName) {
        self.write(account.as_str(), |account| account.unparseable += 1);
    }

    /// Counts objects that the hub's store rejected.
    pub fn rejected(&self, account: &AccountName, count: usize) {
        self.write(account.as_str(), |account| account.rejected += count as u64);
    }

    /// Records the kinds that this agent caches of the account from now on.
    pub fn caching(&self, account: &AccountName, kinds: Vec<String>) {
        self.write(account.as_str(), |account| {
            account.caching = true;
            account.kinds = kinds;
        });
    }

    /// Records that this agent no longer caches the account.
    pub fn not_caching(&self, account: &AccountName) {
        self.write(account.as_str(), |account| {
            account.caching = false;
            account.watches.clear();
        });
    }

    /// Records the state of a watch; ignores one whose account is no longer cached.
    pub fn watch(&self, account: &AccountName, scope: &Scope, state: WatchState, error: Option<String>) {
        self.write(account.as_str(), |account| {
            if !account.caching {
                return;
            }
            let watch = WatchStatus { state, listings: 0, error: None };
            let watch = account.watches.entry(scope.clone()).or_insert(watch);
            watch.listings += u64::from(state == WatchState::Listing);
            (watch.state, watch.error) = (state, error);
        });
    }

    /// Removes a watch that has stopped.
    pub fn unwatched(&self, account: &AccountName, scope: &Scope) {
        self.write(account.as_str(), |account| {
            account.watches.remove(scope);
        });
    }

    /// Returns all accounts.
    pub fn accounts(&self) -> Vec<AccountView> {
        let view = |(name, account): (&String, &AccountStatus)| AccountView {
            config: ConfigView { name: name.clone(), dynamic: false },
            state: StateView { name: account.state, error: account.error.clone() },
            kinds: account.kinds.clone(),
            caching: account.caching,
            denied: account.denied().collect(),
            problems: account.problems.iter().cloned().collect(),
            unparseable_events: account.unparseable,
            rejected_objects: account.rejected,
        };
        self.accounts.read().iter().map(view).collect()
    }

    /// Returns all watches, by account and state.
    pub fn watches(&self) -> BTreeMap<String, BTreeMap<WatchState, Vec<WatchView>>> {
        let mut watches = BTreeMap::new();
        for (name, account) in self.accounts.read().iter() {
            let states: &mut BTreeMap<_, Vec<_>> = watches.entry(name.clone()).or_default();
            for (scope, watch) in &account.watches {
                let namespace = scope.namespace.as_deref().unwrap_or("(all namespaces)").to_owned();
                let view = WatchView {
                    kind: scope.kind.to_string(),
                    group: scope.group.to_string(),
                    namespace,
                    status: watch.clone(),
                };
                states.entry(watch.state).or_default().push(view);
            }
        }
        watches
    }

    /// Returns the progress of each account, by name.
    pub fn progress(&self) -> Vec<Progress> {
        let count = |account: &AccountStatus, state| {
            account.watches.values().filter(|watch| watch.state == state).count()
        };
        let progress = |(name, account): (&String, &AccountStatus)| Progress {
            account: name.clone(),
            watching: count(account, WatchState::Watching),
            unreadable: count(account, WatchState::Denied) + count(account, WatchState::Waiting),
            scopes: if account.caching { account.kinds.len().max(account.watches.len()) } else { 0 },
            error: account.error.clone(),
        };
        self.accounts.read().iter().map(progress).collect()
    }

    /// Returns the number of watches in each state.
    pub fn watch_counts(&self) -> BTreeMap<WatchState, usize> {
        let mut counts = BTreeMap::new();
        for watch in self.accounts.read().values().flat_map(|account| account.watches.values()) {
            *counts.entry(watch.state).or_default() += 1;
        }
        counts
    }

    /// Returns the number of accounts that cannot be used now.
    pub fn failed_accounts(&self) -> usize {
        self.accounts.read().values().filter(|account| account.state == AccountState::DiscoveryError).count()
    }
}

// === impl AccountStatus ===

impl AccountStatus {
    fn denied(&self) -> impl Iterator<Item = String> {
        let denied = self.watches.iter().filter(|(_, watch)| watch.state == WatchState::Denied);
        denied.map(|(scope, watch)| format!("{scope}: {}", watch.error.as_deref().unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> (AgentStatus, AccountName) {
        let status = AgentStatus::default();
        status.configured("main");
        (status, AccountName::parse("main").unwrap())
    }

    #[test]
    fn repeated_problems_do_not_replace_others() {
        let (status, main) = status();
        status.problem(&main, "once".into());
        for group in ["a", "b"].repeat(PROBLEMS) {
            status.problem(&main, group.into());
        }
        assert_eq!(status.accounts()[0].problems, ["once", "a", "b"]);
    }

    #[test]
    fn accounts_that_cannot_be_used_are_published_with_the_reason() {
        let (status, _) = status();
        status.configured("other");
        let mut unavailable_rx = status.unavailable();
        let published = |rx: &mut watch::Receiver<Vec<UnavailableAccount>>| {
            let now = rx.borrow_and_update();
            now.iter().map(|account| format!("{}: {}", account.name, account.reason)).collect::<Vec<_>>()
        };
        status.failed("main", "no route".into());
        status.failed("other", "401".into());
        assert_eq!(published(&mut unavailable_rx), ["main: no route", "other: 401"]);
        status.failed("main", "no route".into());
        assert!(!unavailable_rx.has_changed().unwrap(), "the same again");
        status.discovered("main");
        status.removed("other");
        assert!(published(&mut unavailable_rx).is_empty());
    }

    #[test]
    fn watches_of_an_account_that_is_no_longer_cached_are_not_shown() {
        let (status, main) = status();
        let scope = Scope { group: "".into(), kind: "Pod".into(), namespace: None };
        status.caching(&main, vec!["Pod".into()]);
        status.watch(&main, &scope, WatchState::Watching, None);
        assert_eq!(status.watch_counts().len(), 1);
        status.not_caching(&main);
        status.watch(&main, &scope, WatchState::Resuming, None);
        assert!(status.watch_counts().is_empty());
    }
}
