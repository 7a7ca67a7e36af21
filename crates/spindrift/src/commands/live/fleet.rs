//! Accounts with their health and change rates.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::rate::Rate;
use crate::hub::Account;

/// All accounts by name, and their total change rate.
#[derive(Debug, Default)]
pub(super) struct Fleet {
    lines: BTreeMap<String, FleetRow>,
    pub(super) total: Rate,
}

/// One account.
#[derive(Debug, Default)]
pub(super) struct FleetRow {
    /// `None` until the hub has listed the account.
    pub(super) account: Option<Account>,
    pub(super) rate: Rate,
}

/// Health of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Live,
    Syncing,
    Bad,
}

// === impl Fleet ===

impl Fleet {
    /// Replaces the accounts; keeps the rates, and drops accounts that the hub no longer lists.
    pub(super) fn update(&mut self, accounts: Vec<Account>) {
        let mut before = std::mem::take(&mut self.lines);
        for account in accounts {
            let rate = before.remove(&account.name).map(|line| line.rate).unwrap_or_default();
            self.lines.insert(account.name.clone(), FleetRow { account: Some(account), rate });
        }
    }

    /// Counts a change of the account.
    pub(super) fn count(&mut self, account: &str, at: Timestamp) {
        let second = at.as_second();
        self.total.count(second);
        if !self.lines.contains_key(account) {
            self.lines.insert(account.to_owned(), FleetRow::default());
        }
        if let Some(line) = self.lines.get_mut(account) {
            line.rate.count(second);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = (&String, &FleetRow)> {
        self.lines.iter()
    }

    pub(super) fn objects(&self) -> u64 {
        self.lines.values().filter_map(|line| line.account.as_ref()).map(|account| account.objects).sum()
    }

    /// Problems by account.
    pub(super) fn problems(&self) -> Vec<(&str, String)> {
        let mut problems = Vec::new();
        for (name, line) in &self.lines {
            let Some(account) = &line.account else { continue };
            if let Some(problem) = &account.problem {
                problems.push((name.as_str(), problem.clone()));
            }
            if account.cached_by.is_none() {
                problems.push((name, "no agent caches it: is the agent running?".into()));
            }
        }
        problems
    }
}

// === impl FleetRow ===

impl FleetRow {
    pub(super) fn health(&self) -> Health {
        match &self.account {
            None => Health::Syncing,
            Some(account) if account.cached_by.is_none() || account.problem.is_some() => Health::Bad,
            Some(account) if account.listing > 0 || account.watches == 0 => Health::Syncing,
            Some(_) => Health::Live,
        }
    }
}
