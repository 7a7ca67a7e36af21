//! Rules by which rows are derived from the objects of each account, and the task that re-derives rows after rules
//! changed.

mod derivation;

use std::{collections::HashMap, convert::Infallible, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use parking_lot::RwLock;
use spindrift_model::{AccountName, HubId, TenantId};
use spindrift_process::report;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{Account, Accounts};
use crate::{
    ingest::RulesByAccount,
    store::{DeriveRows, Rederived, RowState, Store, StoreError},
};

pub use derivation::Derivation;

/// Interval at which accounts are read: an account may be announced to another hub than the one that writes it.
const PERIOD: Duration = Duration::from_secs(5);

/// Age of the last progress after which another hub's re-derivation counts as abandoned; it records one per page.
const ABANDONED: Duration = Duration::from_secs(30);

/// Row rules of all accounts, as they were last read; clones share them.
#[derive(Debug, Clone)]
pub struct AccountRowRules {
    accounts: Accounts,
    by_account: Arc<RwLock<HashMap<AccountName, Arc<Derivation>>>>,
}

/// Background task that re-derives the rows of accounts whose rules changed.
#[derive(Debug)]
pub struct RowRederivation {
    store: Store,
    rules: AccountRowRules,
    tenant: TenantId,
    hub: HubId,
}

// === impl AccountRowRules ===

impl AccountRowRules {
    pub fn new(accounts: Accounts) -> Self {
        Self { accounts, by_account: Arc::default() }
    }

    /// Rules of an account; the defaults if it is not known.
    pub fn of(&self, account: &AccountName) -> Arc<Derivation> {
        self.by_account.read().get(account).cloned().unwrap_or_default()
    }

    /// Reads the rules of an account that is to be written. If that fails, its rows are derived again later.
    async fn refresh(&self, account: &AccountName) {
        match self.accounts.read(account).await {
            Ok(Some(found)) => {
                let derivation = Arc::new(Derivation::new(found.row_rules()));
                self.by_account.write().insert(account.clone(), derivation);
            }
            Ok(None) => debug!(%account, "an account is attached that was not announced"),
            Err(error) => {
                warn!(%account, error = %report(&error), "the row rules of an account could not be read");
            }
        }
    }

    async fn refresh_all(&self) -> Result<(), StoreError> {
        let accounts = self.accounts.all().await?;
        let derivation = |account: &Account| Arc::new(Derivation::new(account.row_rules()));
        let derivations: Vec<_> = accounts.iter().map(|it| (it.name.clone(), derivation(it))).collect();
        self.by_account.write().extend(derivations);
        Ok(())
    }
}

impl RulesByAccount for AccountRowRules {
    fn rules(&self, account: &AccountName) -> Arc<dyn DeriveRows> {
        self.of(account)
    }

    fn attached<'a>(&'a self, account: &'a AccountName) -> BoxFuture<'a, ()> {
        self.refresh(account).boxed()
    }

    fn announced(&self) -> BoxFuture<'_, ()> {
        self.accounts.invalidate().boxed()
    }
}

// === impl RowRederivation ===

impl RowRederivation {
    pub fn new(store: Store, rules: AccountRowRules, tenant: TenantId, hub: HubId) -> Self {
        Self { store, rules, tenant, hub }
    }

    /// Runs until the hub shuts down.
    pub async fn run(self, shutdown: CancellationToken) -> Result<(), Infallible> {
        let mut interval = tokio::time::interval(PERIOD);
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while shutdown.run_until_cancelled(interval.tick()).await.is_some() {
            match shutdown.run_until_cancelled(self.rederive()).await {
                Some(Err(error)) => {
                    warn!(error = %report(&error), "rows could not be re-derived; retrying");
                }
                Some(Ok(())) => {}
                None => break,
            }
        }
        Ok(())
    }

    async fn rederive(&self) -> Result<(), StoreError> {
        self.rules.refresh_all().await?;
        for state in self.store.row_states(&self.tenant).await? {
            let derivation = self.rules.of(&state.account);
            if state.is_current(&*derivation) || !self.is_ours(&state) {
                continue;
            }
            let account = &state.account;
            match self.store.rederive(&self.tenant, account, &*derivation).await {
                Ok(Rederived::Done { objects }) => {
                    info!(%account, objects, "the rows of an account were re-derived");
                }
                Ok(Rederived::Overtaken) => {
                    info!(%account, "rows changed while they were re-derived; retrying");
                }
                // It may affect one account only, such as a statement for its rows that takes too long.
                Err(error) => {
                    warn!(%account, error = %report(&error), "the rows of an account could not be re-derived");
                }
            }
        }
        Ok(())
    }

    /// Whether this hub re-derives an account's rows. The hub that writes the account does, so that hubs with different
    /// rules do not overwrite each other's rows; any hub does if there are no rows yet, or no hub writes the account.
    fn is_ours(&self, state: &RowState) -> bool {
        let busy = state.deriving.is_some_and(|since| since < ABANDONED);
        let new = state.revision.is_none() && !state.current;
        !busy && (new || state.hub.as_ref().is_none_or(|hub| *hub == self.hub))
    }
}
