//! Which accounts are configured: started, changed in place and ended, one change after the other.

use std::{
    collections::{BTreeMap, btree_map},
    sync::Arc,
    time::Duration,
};

use spindrift_kubernetes::ApiOptions;
use spindrift_process::{
    config::Problem,
    shutdown::{Shutdown, TaskGroup},
};
use tokio::sync::watch;
use tracing::warn;

use crate::{
    accounts::{Accounts, Preparation},
    config::{AccountConfig, AgentConfig},
    metrics::Metrics,
    status::Board,
    watch::{Budgets, Pace},
};

/// The accounts of the configuration that holds now.
pub struct Roster {
    entries: BTreeMap<String, Entry>,
    ready_tx: watch::Sender<Accounts>,
    board: Board,
    metrics: Arc<Metrics>,
    budgets: Arc<Budgets>,
    shutdown: Shutdown,
}

struct Entry {
    wanted: Wanted,
    /// Gets the account ready, and tries again until it is.
    preparing: TaskGroup,
}

/// All that an account depends on: if nothing of it changes, the account feels nothing.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    config: AccountConfig,
    options: ApiOptions,
    pace: Pace,
    /// Why it is not even tried.
    refused: Option<String>,
}

/// What a configuration changed, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Accounts that were not there.
    pub added: Vec<String>,
    /// Accounts that begin again.
    pub changed: Vec<String>,
    /// Accounts that are gone.
    pub removed: Vec<String>,
    /// What is wrong with the list as a whole.
    pub problems: Vec<String>,
}

// === impl Roster ===

impl Roster {
    /// Without any account yet; those that can be served are published.
    pub fn new(
        ready_tx: watch::Sender<Accounts>,
        board: Board,
        metrics: Arc<Metrics>,
        budgets: Arc<Budgets>,
        shutdown: Shutdown,
    ) -> Self {
        Self { entries: BTreeMap::new(), ready_tx, board, metrics, budgets, shutdown }
    }

    /// Makes the accounts those of the configuration.
    pub async fn apply(&mut self, config: &AgentConfig, missing: &[Problem]) -> Changes {
        let mut changes = Changes::default();
        let wanted = wanted(config, missing, &mut changes.problems);
        let names: Vec<_> = self.entries.keys().cloned().collect();
        for name in names {
            match wanted.get(&name) {
                Some(wanted) if self.entries.get(&name).is_some_and(|entry| entry.wanted == *wanted) => {
                    continue;
                }
                Some(_) => changes.changed.push(name.clone()),
                None => changes.removed.push(name.clone()),
            }
            self.end(&name).await;
        }
        for (name, wanted) in wanted {
            if !self.entries.contains_key(&name) {
                if !changes.changed.contains(&name) {
                    changes.added.push(name.clone());
                }
                self.start(name, wanted);
            }
        }
        changes
    }

    fn start(&mut self, name: String, wanted: Wanted) {
        self.board.configured(&name);
        let preparing = self.shutdown.group(format!("account {name}"));
        if let Some(reason) = &wanted.refused {
            warn!(account = name, error = reason, "Notifying account discovery error for {name}");
            self.board.failed(&name, reason.clone());
        } else {
            let preparation = Preparation {
                config: wanted.config.clone(),
                options: wanted.options.clone(),
                board: self.board.clone(),
                metrics: self.metrics.clone(),
                budgets: self.budgets.clone(),
                pace: wanted.pace,
            };
            preparing.spawn("preparation", preparation.run(self.ready_tx.clone(), preparing.token()));
        }
        self.entries.insert(name, Entry { wanted, preparing });
    }

    async fn end(&mut self, name: &str) {
        let Some(entry) = self.entries.remove(name) else { return };
        // It must not publish an account that was just taken back.
        if let Err(error) = entry.preparing.cancel_and_wait().await {
            warn!(account = name, %error, "the preparation of an account failed");
        }
        self.ready_tx.send_modify(|accounts| accounts.retain(|ready, _| ready.as_str() != name));
        self.board.removed(name);
    }
}

/// The accounts of a configuration; of two with the same name, the first.
fn wanted(config: &AgentConfig, missing: &[Problem], problems: &mut Vec<String>) -> BTreeMap<String, Wanted> {
    let mut wanted = BTreeMap::new();
    for (index, account) in config.kubernetes.accounts.iter().enumerate() {
        match wanted.entry(account.name.clone()) {
            btree_map::Entry::Vacant(place) => {
                let prefix = format!("kubernetes.accounts[{index}].");
                place.insert(Wanted::new(config, account, missing.iter().find_map(|problem| {
                    let key = problem.key.strip_prefix(&prefix)?;
                    Some(format!("{key}: {}", problem.message))
                })));
            }
            btree_map::Entry::Occupied(_) => problems.push(format!(
                "kubernetes.accounts[{index}].name: another account is called {:?} too; this one is not served",
                account.name
            )),
        }
    }
    wanted
}

// === impl Wanted ===

impl Wanted {
    fn new(config: &AgentConfig, account: &AccountConfig, missing: Option<String>) -> Self {
        let impersonated = account.impersonated(&config.kubernetes.assumable_service_accounts);
        let refused = missing.or_else(|| impersonated.as_ref().err().cloned());
        let options = api_options(config, account, impersonated.ok().flatten());
        let pace = config.kubernetes.watches.pace();
        Self { config: config.kubernetes.effective(account), options, pace, refused }
    }
}

/// How an account's API server is talked to.
fn api_options(config: &AgentConfig, account: &AccountConfig, impersonate: Option<String>) -> ApiOptions {
    ApiOptions {
        request_timeout: (config.timeout_seconds > 0).then(|| Duration::from_secs(config.timeout_seconds)),
        insecure: account.insecure,
        no_proxy: account.no_proxy || config.kubernetes.no_proxy,
        impersonate,
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::registry::Registry;
    use serde_json::json;

    use super::*;

    fn config(accounts: &serde_json::Value) -> AgentConfig {
        serde_json::from_value(json!({ "kubernetes": { "accounts": accounts } })).unwrap()
    }

    fn roster() -> (Roster, Board) {
        let board = Board::default();
        let metrics = Arc::new(Metrics::register(&mut Registry::default(), board.clone()));
        let ready_tx = watch::channel(Accounts::new()).0;
        let budgets = Budgets::new(AgentConfig::default().limits());
        let roster = Roster::new(ready_tx, board.clone(), metrics, budgets, Shutdown::new());
        (roster, board)
    }

    fn names(board: &Board) -> Vec<String> {
        board.accounts().into_iter().map(|account| account.config.name).collect()
    }

    #[tokio::test]
    async fn only_what_differs_is_touched() {
        let (mut roster, board) = roster();
        let account = |name: &str, context: &str| json!({ "name": name, "kubeconfigFile": "/none", "context": context });
        let first = config(&json!([account("a", "x"), account("b", "x"), account("c", "x")]));
        let changes = roster.apply(&first, &[]).await;
        assert_eq!(changes.added, ["a", "b", "c"]);
        assert_eq!(roster.apply(&first, &[]).await, Changes::default());

        let second = config(&json!([account("b", "y"), account("d", "x"), account("a", "x")]));
        let changes = roster.apply(&second, &[]).await;
        assert_eq!(
            (changes.added, changes.changed, changes.removed),
            (vec!["d".into()], vec!["b".into()], vec!["c".into()])
        );
        assert_eq!(names(&board), ["a", "b", "d"]);

        let mut slower = second.clone();
        slower.timeout_seconds = 7;
        assert_eq!(roster.apply(&slower, &[]).await.changed, ["a", "b", "d"], "what all share touches all");
    }

    #[tokio::test]
    async fn an_account_that_cannot_be_tried_says_why_and_leaves_the_others_alone() {
        let (mut roster, board) = roster();
        let accounts = json!([
            { "name": "secret", "kubeconfigFile": "/none" },
            { "name": "bold", "kubeconfigFile": "/none", "assumeServiceAccount": "kube-system/admin" },
            { "name": "bold", "serviceAccount": true },
        ]);
        let missing = Problem { key: "kubernetes.accounts[0].context".into(), message: "no vault".into() };
        let changes = roster.apply(&config(&accounts), &[missing]).await;
        assert_eq!(changes.problems.len(), 1, "{changes:?}");
        assert!(
            changes.problems[0].contains("kubernetes.accounts[2].name: another account is called \"bold\"")
        );
        let errors: Vec<_> = board.accounts().into_iter().filter_map(|account| account.state.error).collect();
        assert!(
            errors[0].starts_with("assumeServiceAccount: kube-system/admin is not allowed"),
            "{errors:?}"
        );
        assert_eq!(errors[1], "context: no vault");
    }
}
