//! Accounts without an agent: their objects are those from before the agent left.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use jiff::Timestamp;
use spindrift_printer::since;

use crate::{commands::Context, hub::Client};

/// Stale accounts, and those of them whose objects were shown.
#[derive(Debug, Default)]
pub(crate) struct StaleAccounts {
    /// Time at which each was last seen, by name.
    last_seen: BTreeMap<String, String>,
    shown: RefCell<BTreeSet<String>>,
}

// === impl StaleAccounts ===

impl StaleAccounts {
    /// Requests the accounts; without a response, none is stale, and the request for objects reports the error.
    pub(crate) async fn of(hub: &Client) -> Self {
        let accounts = hub.accounts().await.unwrap_or_default();
        let stale = accounts.into_iter().filter(|account| account.cached_by.is_none());
        let last_seen = stale.map(|account| (account.name, account.last_seen)).collect();
        Self { last_seen, shown: RefCell::default() }
    }

    pub(crate) fn contains(&self, account: &str) -> bool {
        self.last_seen.contains_key(account)
    }

    /// Records that an object of the account is shown.
    pub(crate) fn show(&self, account: &str) {
        if self.contains(account) && !self.shown.borrow().contains(account) {
            self.shown.borrow_mut().insert(account.to_owned());
        }
    }

    /// Notes the shown accounts that are stale.
    pub(crate) fn note_shown(&self, context: &Context) {
        let now = Timestamp::now();
        for account in &*self.shown.borrow() {
            let age = self.last_seen.get(account).map(|seen| since(now, seen)).unwrap_or_default();
            context.note(format_args!(
                "Warning: account {account} is stale: no agent is connected, its objects are {age} old"
            ));
        }
    }
}
