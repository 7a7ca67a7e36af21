//! By which rules the objects of each account become rows, and the task that derives rows anew where rules changed.

use std::{collections::HashMap, convert::Infallible, sync::Arc, time::Duration};

use parking_lot::RwLock;
use spindrift_model::{AccountName, HubId, TenantId};
use spindrift_process::report;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{Account, Accounts};
use crate::store::{Derivation, DerivedAnew, RowState, Store, StoreError};

/// How often accounts are looked at: an account may be announced to another hub than the one that writes it.
const PERIOD: Duration = Duration::from_secs(5);

/// Whoever derives rows says so with each page; one that was not heard of for so long is gone.
const GONE: Duration = Duration::from_secs(30);

/// The rules of all accounts, as they were last read.
#[derive(Debug, Clone)]
pub struct RuleBook {
    accounts: Accounts,
    by_account: Arc<RwLock<HashMap<AccountName, Arc<Derivation>>>>,
}

/// Sees to it that rows are those of the objects, by the rules of their accounts.
#[derive(Debug)]
pub struct Deriving {
    store: Store,
    rules: RuleBook,
    tenant: TenantId,
    hub: HubId,
}

// === impl RuleBook ===

impl RuleBook {
    pub fn new(accounts: Accounts) -> Self {
        Self { accounts, by_account: Arc::default() }
    }

    /// What is known of an account; of one that nobody knows, what holds if nothing is said.
    pub fn of(&self, account: &AccountName) -> Arc<Derivation> {
        self.by_account.read().get(account).cloned().unwrap_or_default()
    }

    /// Accounts are not as they were; whoever asks next reads them.
    pub async fn announced(&self) {
        self.accounts.forget().await;
    }

    /// Reads the rules of an account that is to be written: it may have been announced a moment ago. If that fails, its
    /// rows are mended later.
    pub async fn learn(&self, account: &AccountName) {
        match self.accounts.read(account).await {
            Ok(Some(found)) => {
                let derivation = Arc::new(Derivation::new(found.row_rules()));
                self.by_account.write().insert(account.clone(), derivation);
            }
            Ok(None) => debug!(%account, "an account that nobody announced is attached"),
            Err(error) => warn!(%account, error = %report(&error), "the rules of an account were not read"),
        }
    }

    async fn learn_all(&self) -> Result<(), StoreError> {
        let accounts = self.accounts.all().await?;
        let derivation = |account: &Account| Arc::new(Derivation::new(account.row_rules()));
        let derivations: Vec<_> = accounts.iter().map(|it| (it.name.clone(), derivation(it))).collect();
        self.by_account.write().extend(derivations);
        Ok(())
    }
}

// === impl Deriving ===

impl Deriving {
    pub fn new(store: Store, rules: RuleBook, tenant: TenantId, hub: HubId) -> Self {
        Self { store, rules, tenant, hub }
    }

    /// Runs until the hub stops.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), Infallible> {
        let mut interval = tokio::time::interval(PERIOD);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while shutdown.run_until_cancelled(interval.tick()).await.is_some() {
            match shutdown.run_until_cancelled(self.mend()).await {
                Some(Err(error)) => {
                    warn!(error = %report(&error), "rows were not derived; it is tried again");
                }
                Some(Ok(())) => {}
                None => break,
            }
        }
        Ok(())
    }

    async fn mend(&self) -> Result<(), StoreError> {
        self.rules.learn_all().await?;
        for state in self.store.row_states(&self.tenant).await? {
            let derivation = self.rules.of(&state.account);
            if state.is_of(&derivation) || !self.is_ours(&state) {
                continue;
            }
            let account = &state.account;
            match self.store.derive_anew(&self.tenant, account, &derivation).await {
                Ok(DerivedAnew::Done { objects }) => {
                    info!(%account, objects, "the rows of an account were derived anew");
                }
                Ok(DerivedAnew::Overtaken) => {
                    info!(%account, "rows changed while they were derived; it is done again");
                }
                // Whatever it is, it may be one account's alone: a statement of its rows that takes too long, for one.
                Err(error) => {
                    warn!(%account, error = %report(&error), "the rows of an account were not derived anew");
                }
            }
        }
        Ok(())
    }

    /// Whoever writes an account sees to its rows, so that hubs whose rules differ do not work against each other; of
    /// one that has no rows yet, or that nobody writes, any hub.
    fn is_ours(&self, state: &RowState) -> bool {
        let busy = state.deriving.is_some_and(|since| since < GONE);
        let new = state.revision.is_none() && !state.current;
        !busy && (new || state.hub.as_ref().is_none_or(|hub| *hub == self.hub))
    }
}
