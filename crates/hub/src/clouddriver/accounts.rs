//! The accounts of this hub, kept for a moment: Gate asks for all of them every few seconds, and every operation for its
//! own, while they change a few times a day.

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

/// What an agent announces is seen after this long; what it costs is one query in the meantime.
const FRESH: Duration = Duration::from_millis(500);
/// Namespaces come and go more often, and there are many; Clouddriver looks every 30 s.
const FRESH_NAMESPACES: Duration = Duration::from_secs(5);

/// A store that did not answer is asked again after this long: everybody would wait for it in a row.
const PAUSE: Duration = Duration::from_secs(5);

/// The accounts of this hub.
#[derive(Debug, Clone)]
pub struct Accounts {
    store: Store,
    tenant: TenantId,
    runtime: Arc<Runtime>,
    /// One who reads, others wait: however many ask at once, the store is asked once.
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    read_at: Option<Instant>,
    namespaces_read_at: Option<Instant>,
    /// When the store did not answer; what was read before stays.
    failed_at: Option<Instant>,
    is_read: bool,
    /// Of accounts that are not limited to some: those that are cached.
    namespaces: BTreeMap<AccountName, Vec<String>>,
    /// By name, with what they were made of.
    accounts: Vec<(AccountRow, Arc<Account>)>,
}

// === impl Accounts ===

impl Accounts {
    pub fn new(store: Store, tenant: TenantId, runtime: Arc<Runtime>) -> Self {
        Self { store, tenant, runtime, known: Arc::default() }
    }

    /// All of them, by name.
    pub async fn all(&self) -> Result<Vec<Arc<Account>>, StoreError> {
        let known = self.known().await?;
        Ok(known.accounts.iter().map(|(_, account)| account.clone()).collect())
    }

    /// All of them, and of these names whatever is there at this moment.
    pub async fn all_with(&self, names: &[&str]) -> Result<Vec<Arc<Account>>, StoreError> {
        for name in names {
            self.find(name).await?;
        }
        self.all().await
    }

    /// The one of this name. Nobody is told that there is none who has just been announced.
    pub async fn find(&self, name: &str) -> Result<Option<Arc<Account>>, StoreError> {
        let known = self.known().await?;
        if let Some(account) = known.find(name) {
            return Ok(Some(account));
        }
        drop(known);
        let Ok(parsed) = AccountName::parse(name) else { return Ok(None) };
        if self.store.account(&self.tenant, &parsed).await?.is_none() {
            return Ok(None);
        }
        self.forget().await;
        Ok(self.known().await?.find(name))
    }

    /// Whoever asks next reads them.
    pub(crate) async fn forget(&self) {
        let mut known = self.known.lock().await;
        (known.read_at, known.failed_at) = (None, None);
    }

    /// The one of this name, as it is at this moment.
    pub(super) async fn read(&self, name: &AccountName) -> Result<Option<Account>, StoreError> {
        let row = self.store.account(&self.tenant, name).await?;
        Ok(row.map(|row| Account::new(&row, &self.runtime)))
    }

    /// Whether there is one of this name. If the store does not answer, there is none that there was not before.
    pub async fn has(&self, name: &str) -> Result<bool, StoreError> {
        let known = self.known().await?;
        if known.find(name).is_some() || known.failed_at.is_some() {
            return Ok(known.find(name).is_some());
        }
        drop(known);
        match self.find(name).await {
            Ok(found) => Ok(found.is_some()),
            Err(error) => {
                warn!(error = %report(&error), "the store does not answer; accounts are taken to be as they were");
                Ok(false)
            }
        }
    }

    async fn known(&self) -> Result<tokio::sync::MutexGuard<'_, Known>, StoreError> {
        let mut known = self.known.lock().await;
        let now = Instant::now();
        let is_old = |at: Option<Instant>, fresh| at.is_none_or(|at| now - at >= fresh);
        if is_old(known.read_at, FRESH) && is_old(known.failed_at, PAUSE) {
            let with_namespaces = is_old(known.namespaces_read_at, FRESH_NAMESPACES);
            match self.refresh(&mut known, with_namespaces).await {
                Ok(()) => {
                    known.read_at = Some(now);
                    known.failed_at = None;
                }
                Err(error) if known.is_read => {
                    warn!(error = %report(&error), "the store does not answer; accounts are taken to be as they were");
                    known.failed_at = Some(Instant::now());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(known)
    }

    async fn refresh(&self, known: &mut Known, with_namespaces: bool) -> Result<(), StoreError> {
        let rows = self.store.accounts(&self.tenant).await?;
        if with_namespaces {
            known.namespaces = self.store.namespaces_by_account(&self.tenant).await?;
            known.namespaces_read_at = Some(Instant::now());
        }
        known.replace(rows, &self.runtime);
        known.is_read = true;
        Ok(())
    }
}

// === impl Known ===

impl Known {
    fn find(&self, name: &str) -> Option<Arc<Account>> {
        let found = self.accounts.binary_search_by(|(_, account)| account.name.as_str().cmp(name)).ok()?;
        self.accounts.get(found).map(|(_, account)| account.clone())
    }

    /// Accounts that are as they were are not made anew: reading their properties is most of the work.
    fn replace(&mut self, mut rows: Vec<AccountRow>, runtime: &Runtime) {
        // The order of databases is not always ours.
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
                    let told = old.map(|(_, account)| account.problems.clone()).unwrap_or_default();
                    if account.problems != told && !account.problems.is_empty() {
                        let problems = account.problems.join("; ");
                        warn!(account = %account.name, "an account's settings cannot be read: {problems}");
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
