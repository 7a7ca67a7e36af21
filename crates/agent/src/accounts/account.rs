//! From a configured account to one that can be served: credentials, identity, version, kinds.

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
use tracing::{info, warn};

use crate::{
    config::AccountConfig,
    metrics::Metrics,
    status::Board,
    watch::{AccountBudget, Budgets, Pace, Permissions},
};

/// Failed accounts are tried again at this pace: a cluster that comes up is found soon, one that is gone costs little.
const RETRY: BackoffConfig =
    BackoffConfig { base: Duration::from_secs(1), multiplier: 2.0, jitter: 0.2, max: Duration::from_mins(1) };

/// An account whose API server has answered.
pub struct Account {
    /// What the hub is told.
    pub description: AccountDescription,
    /// How it was configured.
    pub config: AccountConfig,
    /// What never leaves its cluster.
    pub redactions: Redactions,
    /// Its API server.
    pub api: Api,
    /// Which resources it serves, as far as operations had to know.
    pub resolver: Resolver,
    /// Whether its API server cannot send a list through a watch; learnt once.
    pub paged_lists_only: AtomicBool,
    /// What its credentials are known not to allow; learnt over sessions.
    pub permissions: Permissions,
    /// How many of its lists may run at once.
    pub budget: AccountBudget,
    /// How patient its watches are.
    pub pace: Pace,
    /// How the fields of its kinds are merged; learnt when something is applied.
    pub schemas: Schemas,
}

/// The accounts that can be served; grows as API servers answer.
pub type Accounts = BTreeMap<AccountName, Arc<Account>>;

/// What it takes to get an account ready.
pub struct Preparation {
    /// How it was configured.
    pub config: AccountConfig,
    /// Ceiling for one request.
    pub options: ApiOptions,
    /// Where its state is shown.
    pub board: Board,
    /// The agent's counters.
    pub metrics: Arc<Metrics>,
    /// What all accounts together may start at once.
    pub budgets: Arc<Budgets>,
    /// How patient its watches are.
    pub pace: Pace,
}

// === impl Account ===

impl Account {
    /// What is watched of a resource, with no more of each object than may leave the cluster.
    pub fn target(&self, resource: Resource, namespace: Option<Arc<str>>) -> WatchTarget {
        WatchTarget::new(resource, namespace).redacted(&self.redactions)
    }

    /// The kinds that settings name and the API server does not serve, with the setting.
    pub fn unserved_kinds<'a>(
        &'a self,
        discovery: &'a Discovery,
    ) -> impl Iterator<Item = (&'static str, &'a str)> {
        let redacted = self.redactions.unserved(discovery).map(|kind| ("redact", kind));
        self.config.unserved_kinds(discovery).chain(redacted)
    }
}

impl Account {
    /// Its namespaces as they are now: those that are configured, else those that there are.
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
    /// Tries until the account can be served, then publishes it. One account's trouble is its own.
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
                        self.board.discovered(name.as_str());
                        if let (_, Some(problem)) = self.config.permissions() {
                            warn!(account = %name, "{problem}");
                            self.board.problem(&name, problem);
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
            self.board.failed(&self.config.name, failure);
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
        // Before anything is read: an account whose rules are not understood sends nothing.
        let redactions = Redactions::compile(&config.redact).map_err(|invalid| report(&invalid))?;
        let credentials = config.credentials()?;
        let connecting = Api::connect(&credentials, &self.options);
        let api = self.budgets.load(connecting).await.map_err(|error| report(&error))?;
        let failed = |error| report(&error);
        self.metrics.kubernetes_requests.inc_by(3);
        if !redactions.is_empty() {
            // Nothing is answered before it is known which kinds the rules mean.
            redactions.add_short_names(&api.discover().await.map_err(failed)?);
        }
        let kubernetes_version = api.version().await.map_err(failed)?;
        let cluster = api.identity().await.map_err(failed)?;
        // Not being allowed to list namespaces is no failure: they are only shown.
        let namespaces = namespaces(&config, &api).await.unwrap_or_default();
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
            permissions: Permissions::default(),
            budget: self.budgets.account(),
            pace: self.pace,
            schemas: Schemas::default(),
        })
    }
}
