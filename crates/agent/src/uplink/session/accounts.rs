//! Accounts of a session: announced to the hub, accepted or refused by it, cached, withdrawn.

use std::{future::pending, sync::Arc};

use spindrift_model::{AccountDescription, AccountName};
use spindrift_process::supervisor::Panicked;
use spindrift_protocol::{ControlUp, Verdict};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::{ServedAccount, Session};
use crate::{
    accounts::Account,
    uplink::{
        caching::CachingAccount,
        namespaces::{NamespacePoller, must_poll},
    },
};

impl Session<'_> {
    /// Announces accounts that are new or have changed, and withdraws those that are gone. A cached account is stopped
    /// first: its task detaches it in order, and then it is withdrawn.
    pub(super) fn follow_accounts(&mut self) {
        let ready = self.uplink.ready_rx.borrow().clone();
        let is_current = |name: &AccountName, account: &Arc<Account>| {
            ready.get(name).is_some_and(|current| Arc::ptr_eq(current, account))
        };
        let outdated: Vec<_> = self
            .announced
            .iter()
            .filter(|(name, account)| !is_current(name, account))
            .map(|(name, _)| name.clone())
            .collect();
        for name in outdated {
            match self.accounts.get(&name) {
                Some(served) => served.stop.cancel(),
                None => self.withdraw(&name),
            }
        }
        let is_new =
            |name: &AccountName| !self.announced.contains_key(name) && !self.caching.awaits_restart(name);
        let new: Vec<_> = ready.into_iter().filter(|(name, _)| is_new(name)).collect();
        self.announce(new);
    }

    /// Withdraws an account whose task has stopped, and announces it again if it still exists.
    pub(super) fn stopped(&mut self, name: &AccountName) {
        self.accounts.remove(name);
        self.uplink.status.not_caching(name);
        self.withdraw(name);
        self.announce_again(name);
    }

    /// Withdraws an account whose task panicked, which is a bug. The others continue; this one is free for other agents,
    /// and is announced again after a pause.
    pub(super) fn panicked(&mut self, Panicked { key: name, message, pause }: &Panicked<AccountName>) {
        error!(account = %name, error = message, retry_in = ?pause, "caching of an account panicked; restarting");
        self.accounts.remove(name);
        self.uplink.status.not_caching(name);
        self.uplink.status.failed(name.as_str(), format!("caching panicked and is restarted: {message}"));
        self.withdraw(name);
    }

    /// Announces a withdrawn account again, if there still is one of that name.
    pub(super) fn announce_again(&mut self, name: &AccountName) {
        let again = self.uplink.ready_rx.borrow().get(name).cloned();
        self.announce(again.into_iter().map(|account| (name.clone(), account)).collect());
    }

    fn withdraw(&mut self, name: &AccountName) {
        self.announced.remove(name);
        self.refused.remove(name);
        info!(account = %name, "account withdrawn");
        self.control_queue.push_back(ControlUp::Withdraw(name.clone()));
    }

    fn announce(&mut self, accounts: Vec<(AccountName, Arc<Account>)>) {
        if accounts.is_empty() {
            return;
        }
        let descriptions = accounts.iter().map(|(_, account)| account.description.clone()).collect();
        self.announced.extend(accounts);
        self.control_queue.push_back(ControlUp::Announce(descriptions));
    }

    /// Announces the accounts again that the hub has refused.
    pub(super) fn announce_refused(&mut self) {
        let account = |name: &AccountName| Some((name.clone(), self.announced.get(name)?.clone()));
        let refused = self.refused.keys().filter_map(account).collect();
        self.announce(refused);
    }

    /// Starts to cache an account that the hub accepts; shows the reason if the hub refuses it.
    pub(super) fn apply_verdict(&mut self, verdict: Verdict) {
        let Verdict { account: name, refused, only_managed } = verdict;
        if let Some(reason) = refused {
            if self.refused.get(&name) != Some(&reason) {
                warn!(account = %name, reason, "the hub refused the account");
                self.uplink.status.problem(&name, format!("the hub refused the account: {reason}"));
            }
            self.refused.insert(name, reason);
            return;
        }
        self.refused.remove(&name);
        // A second verdict on the same account starts no second task.
        let Some(account) = self.announced.get(&name).cloned() else { return };
        if self.accounts.contains_key(&name) {
            return;
        }
        // What the account withholds by its own setting, a hub cannot ask for.
        let only_managed = only_managed || account.config.only_spinnaker_managed == Some(true);
        info!(account = %name, "starting agentCreator {name}");
        self.uplink.status.discovered(name.as_str());
        let (down_tx, down_rx) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        self.accounts.insert(name.clone(), ServedAccount { down_tx, stop: stop.clone() });
        let caching = CachingAccount {
            account,
            kinds: self.welcome.kinds.clone(),
            only_managed,
            batch_bytes: self.welcome.pacing.batch_bytes as usize,
            attached_tx: self.uplink.attached_tx.clone(),
            up_tx: self.channels.events_tx.clone(),
            down_rx,
            status: self.uplink.status.clone(),
            metrics: self.uplink.metrics.clone(),
            stop,
        };
        let polls = must_poll(&caching.account.config, &caching.kinds);
        let poller = polls.then(|| NamespacePoller {
            account: caching.account.clone(),
            metrics: caching.metrics.clone(),
            updates_tx: self.namespaces.0.clone(),
        });
        self.caching.start(name, async {
            let polling = async {
                match poller {
                    Some(poller) => poller.run().await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = caching.run() => {}
                () = polling => {}
            }
        });
    }

    /// Announces the changed namespaces of an account. All else is unchanged, so its caching continues.
    pub(super) fn announce_namespaces(&mut self, name: &AccountName, namespaces: Vec<String>) {
        let Some(account) = self.announced.get(name).filter(|_| self.accounts.contains_key(name)) else {
            return;
        };
        let description = AccountDescription { namespaces, ..account.description.clone() };
        self.control_queue.push_back(ControlUp::Announce(vec![description]));
    }
}
