//! Which accounts an answer from the store may lack, or show as they were.
//!
//! Lists are answered at once, whatever is the matter with a cluster. So that nothing is missing in silence, a header names
//! the accounts whose agent is away, or whose objects are not all listed yet.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{
    http::{HeaderName, HeaderValue},
    response::{IntoResponseParts, ResponseParts},
};
use spindrift_model::{AccountName, TenantId};
use tokio::{sync::Mutex, time::Instant};

use crate::{
    clouddriver::{Account, Accounts},
    store::{ScopeCounts, Store, StoreError},
};

/// Names accounts by comma; `+3` at the end are three more.
pub(super) const HEADER: HeaderName = HeaderName::from_static("x-spindrift-stale");

/// As long as an answer to the question is believed: every list asks, and it is about what happens in seconds.
const FRESH: Duration = Duration::from_secs(1);
/// Proxies and servers of others take 8 KiB of all headers together.
const LONGEST: usize = 2048;

/// Knows which accounts are stale.
#[derive(Debug)]
pub struct Staleness {
    accounts: Accounts,
    store: Store,
    tenant: TenantId,
    known: Mutex<Option<(Instant, Arc<[AccountName]>)>>,
}

/// The stale ones among the accounts that an answer concerns, as a header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stale(Option<String>);

// === impl Staleness ===

impl Staleness {
    pub fn new(accounts: Accounts, store: Store, tenant: TenantId) -> Self {
        Self { accounts, store, tenant, known: Mutex::default() }
    }

    /// Of all accounts: an application may have something in any.
    pub(super) async fn everywhere(&self) -> Result<Stale, StoreError> {
        Ok(Stale::new(&self.stale().await?))
    }

    /// Of one account.
    pub(super) async fn of(&self, account: &str) -> Result<Stale, StoreError> {
        let accounts = self.stale().await?;
        let this: Vec<_> = accounts.iter().filter(|stale| stale.as_str() == account).cloned().collect();
        Ok(Stale::new(&this))
    }

    async fn stale(&self) -> Result<Arc<[AccountName]>, StoreError> {
        let mut known = self.known.lock().await;
        if let Some((at, accounts)) = &*known
            && at.elapsed() < FRESH
        {
            return Ok(accounts.clone());
        }
        let asked = Instant::now();
        let counts: HashMap<_, _> = self.store.scope_counts(&self.tenant).await?.into_iter().collect();
        let accounts = self.accounts.all().await?.into_iter();
        let stale = accounts.filter(|account| is_stale(account, counts.get(&account.name)));
        let accounts: Arc<[_]> = stale.map(|account| account.name.clone()).collect();
        *known = Some((asked, accounts.clone()));
        Ok(accounts)
    }
}

/// Nobody caches it, or not all of it has been listed. What its agent may not read is no secret: `/v1/accounts` counts it.
fn is_stale(account: &Account, counts: Option<&ScopeCounts>) -> bool {
    !account.attended || counts.is_none_or(|counts| counts.scopes == 0 || counts.unlisted > 0)
}

// === impl Stale ===

impl Stale {
    fn new(accounts: &[AccountName]) -> Self {
        let mut text = String::new();
        for (index, account) in accounts.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            if text.len() + account.as_str().len() > LONGEST {
                text = format!("{text}{comma}+{}", accounts.len() - index);
                break;
            }
            text = text + comma + account.as_str();
        }
        Self(Some(text).filter(|text| !text.is_empty()))
    }
}

impl IntoResponseParts for Stale {
    type Error = std::convert::Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Self::Error> {
        if let Some(value) = self.0.and_then(|text| HeaderValue::try_from(text).ok()) {
            parts.headers_mut().insert(HEADER, value);
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_of_many_accounts_ends_with_how_many_more_there_are() {
        let accounts = |count: usize| -> Vec<_> {
            (0..count).map(|n| AccountName::parse(&format!("account-{n:04}")).unwrap()).collect()
        };
        assert_eq!(Stale::new(&[]), Stale(None));
        assert_eq!(Stale::new(&accounts(2)), Stale(Some("account-0000,account-0001".into())));
        let Stale(Some(text)) = Stale::new(&accounts(5000)) else { panic!("no header") };
        let (names, more) = text.rsplit_once(",+").unwrap();
        assert_eq!(names.split(',').count() + more.parse::<usize>().unwrap(), 5000);
        assert!(text.len() < LONGEST + 10);
    }
}
