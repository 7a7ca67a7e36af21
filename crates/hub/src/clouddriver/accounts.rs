//! Accounts of this hub, cached for a moment: Gate lists them every few seconds and every operation looks up its own,
//! while they change a few times a day.

mod account;
mod caller;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use spindrift_model::{AccountName, TenantId};
use spindrift_process::report;
use tokio::{sync::Mutex, time::Instant};
use tracing::warn;

use crate::{
    config::Runtime,
    store::{AccountRow, Store, StoreError},
};
pub use account::Account;
use account::is_attended;
pub use caller::Caller;

/// Age after which accounts are read again: the delay until an announcement is seen, at one query per interval.
const FRESH: Duration = Duration::from_millis(500);
/// The same for namespaces, of which there are many; Clouddriver reads them every 30 s.
const FRESH_NAMESPACES: Duration = Duration::from_secs(5);

/// Pause after a failed query: otherwise every caller would wait for the store in turn.
const PAUSE: Duration = Duration::from_secs(5);

/// Cached accounts of this hub; clones share the cache.
#[derive(Debug, Clone)]
pub struct Accounts {
    store: Store,
    tenant: TenantId,
    runtime: Arc<Runtime>,
    /// Held while reading, so that concurrent callers cause one query.
    cached: Arc<Mutex<CachedAccounts>>,
}

#[derive(Debug, Default)]
struct CachedAccounts {
    read_at: Option<Instant>,
    namespaces_read_at: Option<Instant>,
    /// Time of the last failed query; earlier results stay.
    failed_at: Option<Instant>,
    is_read: bool,
    /// Cached namespaces, for accounts that are not limited to some.
    namespaces: BTreeMap<AccountName, Vec<String>>,
    /// Sorted by name, each with the row it was built from.
    accounts: Vec<(AccountRow, Arc<Account>)>,
}

// === impl Accounts ===

impl Accounts {
    pub fn new(store: Store, tenant: TenantId, runtime: Arc<Runtime>) -> Self {
        Self { store, tenant, runtime, cached: Arc::default() }
    }

    /// All accounts, sorted by name.
    pub async fn all(&self) -> Result<Vec<Arc<Account>>, StoreError> {
        let cached = self.fresh().await?;
        Ok(cached.accounts.iter().map(|(_, account)| account.clone()).collect())
    }

    /// All accounts, with those of these names read from the store if they are not cached yet.
    pub async fn all_with(&self, names: &[&str]) -> Result<Vec<Arc<Account>>, StoreError> {
        for name in names {
            self.find(name).await?;
        }
        self.all().await
    }

    /// Account of this name. One that is not cached is looked up in the store: it may just have been announced.
    pub async fn find(&self, name: &str) -> Result<Option<Arc<Account>>, StoreError> {
        let cached = self.fresh().await?;
        if let Some(account) = cached.find(name) {
            return Ok(Some(account));
        }
        drop(cached);
        let Ok(parsed) = AccountName::parse(name) else { return Ok(None) };
        if self.store.account(&self.tenant, &parsed).await?.is_none() {
            return Ok(None);
        }
        self.invalidate().await;
        Ok(self.fresh().await?.find(name))
    }

    /// Makes the next caller read them again.
    pub(crate) async fn invalidate(&self) {
        let mut cached = self.cached.lock().await;
        (cached.read_at, cached.failed_at) = (None, None);
    }

    /// Account of this name, read from the store.
    pub(super) async fn read(&self, name: &AccountName) -> Result<Option<Account>, StoreError> {
        let row = self.store.account(&self.tenant, name).await?;
        Ok(row.map(|row| Account::new(&row, &self.runtime)))
    }

    /// Whether there is an account of this name. If the store fails, only the cached ones count.
    pub async fn has(&self, name: &str) -> Result<bool, StoreError> {
        let cached = self.fresh().await?;
        if cached.find(name).is_some() || cached.failed_at.is_some() {
            return Ok(cached.find(name).is_some());
        }
        drop(cached);
        match self.find(name).await {
            Ok(found) => Ok(found.is_some()),
            Err(error) => {
                warn!(error = %report(&error), "accounts cannot be read from the store; the cached ones are used");
                Ok(false)
            }
        }
    }

    async fn fresh(&self) -> Result<tokio::sync::MutexGuard<'_, CachedAccounts>, StoreError> {
        let mut cached = self.cached.lock().await;
        let now = Instant::now();
        let is_old = |at: Option<Instant>, fresh| at.is_none_or(|at| now - at >= fresh);
        if is_old(cached.read_at, FRESH) && is_old(cached.failed_at, PAUSE) {
            let with_namespaces = is_old(cached.namespaces_read_at, FRESH_NAMESPACES);
            match self.refresh(&mut cached, with_namespaces).await {
                Ok(()) => {
                    cached.read_at = Some(now);
                    cached.failed_at = None;
                }
                Err(error) if cached.is_read => {
                    warn!(error = %report(&error), "accounts cannot be read from the store; the cached ones are used");
                    cached.failed_at = Some(Instant::now());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(cached)
    }

    async fn refresh(&self, cached: &mut CachedAccounts, with_namespaces: bool) -> Result<(), StoreError> {
        let rows = self.store.accounts(&self.tenant).await?;
        if with_namespaces {
            cached.namespaces = self.store.namespaces_by_account(&self.tenant).await?;
            cached.namespaces_read_at = Some(Instant::now());
        }
        cached.replace(rows, &self.runtime);
        cached.is_read = true;
        Ok(())
    }
}

// === impl CachedAccounts ===

impl CachedAccounts {
    fn find(&self, name: &str) -> Option<Arc<Account>> {
        let found = self.accounts.binary_search_by(|(_, account)| account.name.as_str().cmp(name)).ok()?;
        self.accounts.get(found).map(|(_, account)| account.clone())
    }

    /// Replaces the accounts. Unchanged ones are kept, since parsing their properties is most of the work.
    fn replace(&mut self, mut rows: Vec<AccountRow>, runtime: &Runtime) {
        // Databases may collate names differently.
        rows.sort_by(|one, other| one.description.name.cmp(&other.description.name));
        let mut before: BTreeMap<_, _> = std::mem::take(&mut self.accounts)
            .into_iter()
            .map(|(row, account)| (row.description.name.clone(), (row, account)))
            .collect();
        for row in rows {
            let namespaces = self.namespaces.get(&row.description.name);
            let account = match before.remove(&row.description.name) {
                Some((old, account)) if is_same(&old, &row, &account, namespaces) => account,
                old => {
                    let mut account = Account::new(&row, runtime);
                    if let Some(namespaces) = namespaces.filter(|_| account.namespaces.is_empty()) {
                        account.settings.namespaces.clone_from(namespaces);
                    }
                    let logged = old.map(|(_, account)| account.problems.clone()).unwrap_or_default();
                    if account.problems != logged && !account.problems.is_empty() {
                        let problems = account.problems.join("; ");
                        warn!(account = %account.name, "the settings of an account are invalid: {problems}");
                    }
                    Arc::new(account)
                }
            };
            self.accounts.push((row, account));
        }
    }
}

fn is_same(old: &AccountRow, row: &AccountRow, account: &Account, namespaces: Option<&Vec<String>>) -> bool {
    let same_namespaces = !account.namespaces.is_empty()
        || namespaces.is_none_or(|namespaces| *namespaces == account.settings.namespaces);
    old.description == row.description && account.attended == is_attended(row) && same_namespaces
}
