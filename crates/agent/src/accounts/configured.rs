//! Configured accounts: prepared, re-prepared and removed when the configuration changes, one change after the other.

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
    status::AgentStatus,
    watch::{Budgets, WatchTimeouts},
};

/// Accounts of the current configuration.
pub struct ConfiguredAccounts {
    accounts: BTreeMap<String, ConfiguredAccount>,
    ready_tx: watch::Sender<Accounts>,
    status: AgentStatus,
    metrics: Arc<Metrics>,
    budgets: Arc<Budgets>,
    shutdown: Shutdown,
}

struct ConfiguredAccount {
    desired: DesiredAccount,
    /// Task that prepares the account and retries until it is ready.
    preparing: TaskGroup,
}

/// All settings that an account depends on: a change of any other setting does not affect it.
#[derive(Debug, Clone, PartialEq)]
struct DesiredAccount {
    config: AccountConfig,
    options: ApiOptions,
    timeouts: WatchTimeouts,
    /// Reason for which it is not even tried.
    rejected: Option<String>,
}

/// Changes that a configuration made, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AccountChanges {
    /// Accounts that are new.
    pub added: Vec<String>,
    /// Accounts that are prepared again.
    pub changed: Vec<String>,
    /// Accounts that are gone.
    pub removed: Vec<String>,
    /// Problems of the list as a whole.
    pub problems: Vec<String>,
}

// === impl ConfiguredAccounts ===

impl ConfiguredAccounts {
    /// Returns an empty set; accounts that can be served are published.
    pub fn new(
        ready_tx: watch::Sender<Accounts>,
        status: AgentStatus,
        metrics: Arc<Metrics>,
        budgets: Arc<Budgets>,
        shutdown: Shutdown,
    ) -> Self {
        Self { accounts: BTreeMap::new(), ready_tx, status, metrics, budgets, shutdown }
    }

    /// Applies a configuration: removes, prepares again and adds accounts.
    pub async fn apply(&mut self, config: &AgentConfig, missing: &[Problem]) -> AccountChanges {
        let mut changes = AccountChanges::default();
        let desired = desired(config, missing, &mut changes.problems);
        let names: Vec<_> = self.accounts.keys().cloned().collect();
        for name in names {
            match desired.get(&name) {
                Some(desired)
                    if self.accounts.get(&name).is_some_and(|account| account.desired == *desired) =>
                {
                    continue;
                }
                Some(_) => changes.changed.push(name.clone()),
                None => changes.removed.push(name.clone()),
            }
            self.remove(&name).await;
        }
        for (name, desired) in desired {
            if !self.accounts.contains_key(&name) {
                if !changes.changed.contains(&name) {
                    changes.added.push(name.clone());
                }
                self.start(name, desired);
            }
        }
        changes
    }

    fn start(&mut self, name: String, desired: DesiredAccount) {
        self.status.configured(&name);
        let preparing = self.shutdown.group(format!("account {name}"));
        if let Some(reason) = &desired.rejected {
            warn!(account = name, error = reason, "Notifying account discovery error for {name}");
            self.status.failed(&name, reason.clone());
        } else {
            let preparation = Preparation {
                config: desired.config.clone(),
                options: desired.options.clone(),
                status: self.status.clone(),
                metrics: self.metrics.clone(),
                budgets: self.budgets.clone(),
                timeouts: desired.timeouts,
            };
            preparing.spawn("preparation", preparation.run(self.ready_tx.clone(), preparing.token()));
        }
        self.accounts.insert(name, ConfiguredAccount { desired, preparing });
    }

    async fn remove(&mut self, name: &str) {
        let Some(account) = self.accounts.remove(name) else { return };
        // It must not publish an account that was just removed.
        if let Err(error) = account.preparing.cancel_and_wait().await {
            warn!(account = name, %error, "the preparation of an account failed");
        }
        self.ready_tx.send_modify(|accounts| accounts.retain(|ready, _| ready.as_str() != name));
        self.status.removed(name);
    }
}

/// Returns the accounts of a configuration; of two with the same name, the first.
fn desired(
    config: &AgentConfig,
    missing: &[Problem],
    problems: &mut Vec<String>,
) -> BTreeMap<String, DesiredAccount> {
    let mut desired = BTreeMap::new();
    for (index, account) in config.kubernetes.accounts.iter().enumerate() {
        match desired.entry(account.name.clone()) {
            btree_map::Entry::Vacant(place) => {
                let prefix = format!("kubernetes.accounts[{index}]");
                place.insert(DesiredAccount::new(config, account, missing.iter().find_map(|problem| {
                    let key = problem.key.strip_prefix(&prefix)?;
                    Some(format!("{}: {}", key.trim_start_matches('.'), problem.message))
                })));
            }
            btree_map::Entry::Occupied(_) => problems.push(format!(
                "kubernetes.accounts[{index}].name: another account is called {:?} too; this one is not served",
                account.name
            )),
        }
    }
    desired
}

// === impl DesiredAccount ===

impl DesiredAccount {
    fn new(config: &AgentConfig, account: &AccountConfig, missing: Option<String>) -> Self {
        let impersonated = account.impersonated(&config.kubernetes.assumable_service_accounts);
        let rejected = missing.or_else(|| impersonated.as_ref().err().cloned());
        let rejected = rejected.or_else(|| invalid_namespace(account));
        let options = api_options(config, account, impersonated.ok().flatten());
        let timeouts = config.kubernetes.watches.timeouts();
        Self { config: config.kubernetes.effective(account), options, timeouts, rejected }
    }
}

/// Returns the first namespace that no cluster can have. A limit by it would be none: an omitted namespace that is
/// misspelt is not omitted.
fn invalid_namespace(account: &AccountConfig) -> Option<String> {
    let lists = [("namespaces", &account.namespaces), ("omitNamespaces", &account.omit_namespaces)];
    let named = lists.into_iter().flat_map(|(key, names)| names.iter().map(move |name| (key, name)));
    let is_valid = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'))
    };
    let (key, name) = named.into_iter().find(|(_, name)| !is_valid(name))?;
    Some(format!("{key}: {name:?} is no name of a namespace; expected lower case letters, digits and '-'"))
}

/// Returns the options of the client of an account.
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

    fn configured() -> (ConfiguredAccounts, AgentStatus) {
        let status = AgentStatus::default();
        let metrics = Arc::new(Metrics::register(&mut Registry::default(), status.clone()));
        let ready_tx = watch::channel(Accounts::new()).0;
        let budgets = Budgets::new(AgentConfig::default().limits());
        let configured = ConfiguredAccounts::new(ready_tx, status.clone(), metrics, budgets, Shutdown::new());
        (configured, status)
    }

    fn names(status: &AgentStatus) -> Vec<String> {
        status.accounts().into_iter().map(|account| account.config.name).collect()
    }

    #[tokio::test]
    async fn only_accounts_that_differ_are_changed() {
        let (mut configured, status) = configured();
        let account = |name: &str, context: &str| json!({ "name": name, "kubeconfigFile": "/none", "context": context });
        let first = config(&json!([account("a", "x"), account("b", "x"), account("c", "x")]));
        let changes = configured.apply(&first, &[]).await;
        assert_eq!(changes.added, ["a", "b", "c"]);
        assert_eq!(configured.apply(&first, &[]).await, AccountChanges::default());

        let second = config(&json!([account("b", "y"), account("d", "x"), account("a", "x")]));
        let changes = configured.apply(&second, &[]).await;
        assert_eq!(
            (changes.added, changes.changed, changes.removed),
            (vec!["d".into()], vec!["b".into()], vec!["c".into()])
        );
        assert_eq!(names(&status), ["a", "b", "d"]);

        let mut slower = second.clone();
        slower.timeout_seconds = 7;
        assert_eq!(
            configured.apply(&slower, &[]).await.changed,
            ["a", "b", "d"],
            "a setting that all share changes all"
        );
    }

    #[tokio::test]
    async fn an_account_that_cannot_be_tried_shows_the_reason_and_does_not_affect_others() {
        let (mut configured, status) = configured();
        let accounts = json!([
            { "name": "secret", "kubeconfigFile": "/none" },
            { "name": "bold", "kubeconfigFile": "/none", "assumeServiceAccount": "kube-system/admin" },
            { "name": "bold", "serviceAccount": true },
        ]);
        let missing = Problem { key: "kubernetes.accounts[0].context".into(), message: "no vault".into() };
        let changes = configured.apply(&config(&accounts), &[missing]).await;
        assert_eq!(changes.problems.len(), 1, "{changes:?}");
        assert!(
            changes.problems[0].contains("kubernetes.accounts[2].name: another account is called \"bold\"")
        );
        let errors: Vec<_> =
            status.accounts().into_iter().filter_map(|account| account.state.error).collect();
        assert!(
            errors[0].starts_with("assumeServiceAccount: kube-system/admin is not allowed"),
            "{errors:?}"
        );
        assert_eq!(errors[1], "context: no vault");
    }
}
