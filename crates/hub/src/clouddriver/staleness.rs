//! Accounts whose stored objects may be missing or out of date.
//!
//! The hub answers lists from its store at once, whatever the state of a cluster. A header of the response names the
//! accounts that no agent caches, or whose objects are not all listed yet.

use std::{collections::HashMap, sync::Arc, time::Duration};

use spindrift_model::{AccountName, TenantId};
use tokio::{sync::Mutex, time::Instant};

use super::{Account, Accounts, stale_header::StaleHeader};
use crate::store::{ScopeCounts, Store, StoreError};

/// Lifetime of the cached names: every list needs them, and they change within seconds.
const FRESH: Duration = Duration::from_secs(1);

/// Names of the stale accounts, read from the store and cached for a moment.
#[derive(Debug)]
pub struct Staleness {
    accounts: Accounts,
    store: Store,
    tenant: TenantId,
    cached: Mutex<Option<(Instant, Arc<[AccountName]>)>>,
}

// === impl Staleness ===

impl Staleness {
    pub fn new(accounts: Accounts, store: Store, tenant: TenantId) -> Self {
        Self { accounts, store, tenant, cached: Mutex::default() }
    }

    /// Header for a response about all accounts: an application may have objects in any of them.
    pub(super) async fn everywhere(&self) -> Result<StaleHeader, StoreError> {
        Ok(StaleHeader::of(self.stale().await?.iter().map(AccountName::as_str)))
    }

    /// Header for a response about one account.
    pub(super) async fn of(&self, account: &str) -> Result<StaleHeader, StoreError> {
        let accounts = self.stale().await?;
        Ok(StaleHeader::of(accounts.iter().map(AccountName::as_str).filter(|stale| *stale == account)))
    }

    async fn stale(&self) -> Result<Arc<[AccountName]>, StoreError> {
        let mut cached = self.cached.lock().await;
        if let Some((at, accounts)) = &*cached
            && at.elapsed() < FRESH
        {
            return Ok(accounts.clone());
        }
        let started = Instant::now();
        let counts: HashMap<_, _> = self.store.scope_counts(&self.tenant).await?.into_iter().collect();
        let accounts = self.accounts.all().await?.into_iter();
        let stale = accounts.filter(|account| is_stale(account, counts.get(&account.name)));
        let accounts: Arc<[_]> = stale.map(|account| account.name.clone()).collect();
        *cached = Some((started, accounts.clone()));
        Ok(accounts)
    }
}

/// Whether no agent caches the account, or a scope is not listed yet. Scopes that the agent may not read do not count:
/// `/v1/accounts` shows their number.
fn is_stale(account: &Account, counts: Option<&ScopeCounts>) -> bool {
    !account.attended || counts.is_none_or(|counts| counts.scopes == 0 || counts.unlisted > 0)
}
