//! Preparation of a configured account until it can be served: credentials, identity, version, kinds.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use spindrift_kubernetes::{
    Api, ApiError, ApiOptions, Discovery, Redactions, Resolver, Schemas, WatchTarget,
};
use spindrift_model::{AccountDescription, AccountName, Resource};
use spindrift_process::{
    backoff::{Backoff, BackoffConfig},
    report,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::{
    config::AccountConfig,
    metrics::Metrics,
    status::AgentStatus,
    watch::{AccountBudget, Budgets, KnownPermissions, WatchTimeouts},
};

/// Backoff of accounts that failed: a cluster that comes up is found soon, one that is gone costs little.
const RETRY: BackoffConfig =
    BackoffConfig { base: Duration::from_secs(1), multiplier: 2.0, jitter: 0.2, max: Duration::from_mins(1) };

/// An account whose API server has responded.
pub struct Account {
    /// Description for the hub.
    pub description: AccountDescription,
    /// Its configuration.
    pub config: AccountConfig,
    /// Values that never leave its cluster.
    pub redactions: Redactions,
    /// Client of its API server.
    pub api: Api,
    /// Resources that it serves, as far as operations needed them.
    pub resolver: Resolver,
    /// Set once its API server turned out not to support lists by watch.
    pub paged_lists_only: AtomicBool,
    /// Scopes that its credentials do not allow, as far as known; kept over sessions.
    pub permissions: KnownPermissions,
    /// Limits of its concurrent lists.
    pub budget: AccountBudget,
    /// Timeouts of its watches.
    pub timeouts: WatchTimeouts,
    /// Merge schemas of its kinds, loaded when something is applied.
    pub schemas: Schemas,
}

/// Accounts that can be served; grows as API servers respond.
pub type Accounts = BTreeMap<AccountName, Arc<Account>>;

/// Preparation of an account until it can be served.
pub struct Preparation {
    /// Its configuration.
    pub config: AccountConfig,
    /// Options of its client, such as the timeout of a request.
    pub options: ApiOptions,
    /// Status that operators see.
    pub status: AgentStatus,
    /// Metrics of the agent.
    pub metrics: Arc<Metrics>,
    /// Limits of the concurrent lists and starts of all accounts.
    pub budgets: Arc<Budgets>,
    /// Timeouts of its watches.
    pub timeouts: WatchTimeouts,
}

// === impl Account ===

impl Account {
    /// Returns the watch target of a resource, without the values that must not leave the cluster.
    pub fn target(&self, resource: Resource, namespace: Option<Arc<str>>) -> WatchTarget {
        WatchTarget::new(resource, namespace).redacted(&self.redactions)
    }

    /// Returns the configured kinds that the API server does not serve, with their settings.
    pub fn unserved_kinds<'a>(
        &'a self,
        discovery: &'a Discovery,
    ) -> impl Iterator<Item = (&'static str, &'a str)> {
        let redacted = self.redactions.unserved(discovery).map(|kind| ("redact", kind));
        self.config.unserved_kinds(discovery).chain(redacted)
    }
}

impl Account {
    /// Returns its current namespaces: those that are configured, else those of the cluster.
    pub async fn namespaces(&self) -> Result<Vec<String>, ApiError> {
        namespaces(&self.config, &self.api).await
    }
}

async fn namespaces(config: &AccountConfig, api: &Api) -> Result<Vec<String>, ApiError> {
    let mut namespaces =
        if config.namespaces.is_empty() { api.namespaces().await? } else { config.namespaces.clone() };
    namespaces.retain(|name| !config.omit_namespaces.contains(name));
    Ok(namespaces)
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The client holds credentials.
        f.debug_struct("Account").field("description", &self.description).finish_non_exhaustive()
    }
}

// === impl Preparation ===

impl Preparation {
    /// Retries until the account can be served, then publishes it. A failure affects no other account.
    pub async fn run(
        self,
        ready_tx: watch::Sender<Accounts>,
        shutdown: CancellationToken,
    ) -> anyhow::Result<()> {
        let mut backoff = Backoff::new(RETRY);
        loop {
            let failure = tokio::select! {
                biased;
                () = shutdown.cancelled() => return Ok(()),
                prepared = self.prepare() => match prepared {
                    Ok(account) => {
                        let name = account.description.name.clone();
                        info!(account = %name, cluster = %account.description.cluster,
                            version = account.description.kubernetes_version, "account discovered");
                        self.status.discovered(name.as_str());
                        if let (_, Some(problem)) = self.config.permissions() {
                            warn!(account = %name, "{problem}");
                            self.status.problem(&name, problem);
                        }
                        ready_tx.send_modify(|accounts| {
                            accounts.insert(name, Arc::new(account));
                        });
                        return Ok(());
                    }
                    Err(failure) => failure,
                },
            };
            let wait = backoff.next();
            warn!(account = self.config.name, error = failure, retry_in = ?wait, "Notifying account discovery error for {}", self.config.name);
            self.status.failed(&self.config.name, failure);
            if shutdown.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return Ok(());
            }
        }
    }

    async fn prepare(&self) -> Result<Account, String> {
        let config = self.config.clone();
        let name = AccountName::parse(&config.name).map_err(|invalid| invalid.to_string())?;
        config.check_scope()?;
        config.check_spinnaker()?;
        // Before anything is read: an account with invalid rules must not send anything.
        let redactions = Redactions::compile(&config.redact).map_err(|invalid| report(&invalid))?;
        let credentials = config.credentials()?;
        let connecting = Api::connect(&credentials, &self.options);
        let api = self.budgets.load(connecting).await.map_err(|error| report(&error))?;
        let failed = |error| report(&error);
        self.metrics.kubernetes_requests.inc_by(3);
        if !redactions.is_empty() {
            // Operations must not return objects before the kinds of the rules are resolved.
            redactions.add_short_names(&api.discover().await.map_err(failed)?);
        }
        let kubernetes_version = api.version().await.map_err(failed)?;
        let cluster = api.identity().await.map_err(failed)?;
        // Failing to list namespaces does not fail the account: they are only shown.
        let namespaces = namespaces(&config, &api).await.unwrap_or_else(|error| {
            debug!(account = %name, error = %report(&error), "namespaces were not listed");
            Vec::new()
        });
        let description = AccountDescription {
            name,
            cluster,
            kubernetes_version,
            namespaces,
            properties: config.properties(),
            max_resumable_age: config.max_resumable_age(),
        };
        Ok(Account {
            description,
            config,
            redactions,
            api,
            resolver: Resolver::default(),
            paged_lists_only: AtomicBool::new(false),
            permissions: KnownPermissions::default(),
            budget: self.budgets.account(),
            timeouts: self.timeouts,
            schemas: Schemas::default(),
        })
    }
}
