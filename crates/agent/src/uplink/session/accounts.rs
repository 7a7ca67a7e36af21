//! Which accounts the hub is told of in a session, what it says to that, and what is cached therefore.

use std::{future::pending, sync::Arc};

use spindrift_model::{AccountDescription, AccountName};
use spindrift_process::supervisor::Death;
use spindrift_protocol::{ControlUp, Verdict};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::{Served, Session};
use crate::{
    accounts::Account,
    uplink::{
        caching::CachingAccount,
        namespaces::{Lookout, are_looked_up},
    },
};

impl Session<'_> {
    /// Tells the hub which accounts are new, have changed or are gone. One that is cached is stopped first: its task
    /// lets go of it in order, and then the hub is told.
    pub(super) fn follow_roster(&mut self) {
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
                None => self.leave(&name),
            }
        }
        let is_fresh = |name: &AccountName| !self.announced.contains_key(name) && !self.caching.rests(name);
        let fresh: Vec<_> = ready.into_iter().filter(|(name, _)| is_fresh(name)).collect();
        self.announce(fresh);
    }

    /// The task of an account has let go of it.
    pub(super) fn stopped(&mut self, name: &AccountName) {
        self.accounts.remove(name);
        self.uplink.board.not_caching(name);
        self.leave(name);
        self.announce_again(name);
    }

    /// The task of an account panicked, which is a bug. The others go on; this one is free for other agents, and comes
    /// again after a pause.
    pub(super) fn died(&mut self, Death { key: name, words, pause }: &Death<AccountName>) {
        error!(account = %name, error = words, retry_in = ?pause, "the caching of an account has died and is started again");
        self.accounts.remove(name);
        self.uplink.board.not_caching(name);
        self.uplink
            .board
            .failed(name.as_str(), format!("its caching has died and is started again: {words}"));
        self.leave(name);
    }

    /// Tells the hub of an account that has left, if there still is one of that name.
    pub(super) fn announce_again(&mut self, name: &AccountName) {
        let again = self.uplink.ready_rx.borrow().get(name).cloned();
        self.announce(again.into_iter().map(|account| (name.clone(), account)).collect());
    }

    fn leave(&mut self, name: &AccountName) {
        self.announced.remove(name);
        self.refused.remove(name);
        info!(account = %name, "account withdrawn");
        self.outbox.push_back(ControlUp::Withdraw(name.clone()));
    }

    fn announce(&mut self, accounts: Vec<(AccountName, Arc<Account>)>) {
        if accounts.is_empty() {
            return;
        }
        let descriptions = accounts.iter().map(|(_, account)| account.description.clone()).collect();
        self.announced.extend(accounts);
        self.outbox.push_back(ControlUp::Announce(descriptions));
    }

    /// Announces once more what the hub has refused.
    pub(super) fn ask_again(&mut self) {
        let account = |name: &AccountName| Some((name.clone(), self.announced.get(name)?.clone()));
        let refused = self.refused.keys().filter_map(account).collect();
        self.announce(refused);
    }

    /// Starts to cache an account that the hub accepts; shows why it does not accept another.
    pub(super) fn judge(&mut self, verdict: Verdict) {
        let Verdict { account: name, refused } = verdict;
        if let Some(reason) = refused {
            if self.refused.get(&name) != Some(&reason) {
                warn!(account = %name, reason, "the hub refused the account");
                self.uplink.board.problem(&name, format!("the hub refused the account: {reason}"));
            }
            self.refused.insert(name, reason);
            return;
        }
        self.refused.remove(&name);
        // A second verdict on the same account starts no second watch.
        let Some(account) = self.announced.get(&name).cloned() else { return };
        if self.accounts.contains_key(&name) {
            return;
        }
        info!(account = %name, "starting agentCreator {name}");
        self.uplink.board.discovered(name.as_str());
        let (down_tx, down_rx) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        self.accounts.insert(name.clone(), Served { down_tx, stop: stop.clone() });
        let caching = CachingAccount {
            account,
            kinds: self.welcome.kinds.clone(),
            batch_bytes: self.welcome.pacing.batch_bytes as usize,
            up_tx: self.channels.events_tx.clone(),
            down_rx,
            board: self.uplink.board.clone(),
            metrics: self.uplink.metrics.clone(),
            stop,
        };
        let is_looked_up = are_looked_up(&caching.account.config, &caching.kinds);
        let lookout = is_looked_up.then(|| Lookout {
            account: caching.account.clone(),
            metrics: caching.metrics.clone(),
            told_tx: self.namespaces.0.clone(),
        });
        self.caching.start(name, async {
            let looking = async {
                match lookout {
                    Some(lookout) => lookout.run().await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = caching.run() => {}
                () = looking => {}
            }
        });
    }

    /// The namespaces of an account are others than the hub was told. All else is as it was, so it is cached on.
    pub(super) fn tell_namespaces(&mut self, name: &AccountName, namespaces: Vec<String>) {
        let Some(account) = self.announced.get(name).filter(|_| self.accounts.contains_key(name)) else {
            return;
        };
        let description = AccountDescription { namespaces, ..account.description.clone() };
        self.outbox.push_back(ControlUp::Announce(vec![description]));
    }
}
