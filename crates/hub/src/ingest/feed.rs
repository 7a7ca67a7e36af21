//! Feed: wakes its readers when an account has new changes.

use std::collections::HashMap;

use parking_lot::RwLock;
use spindrift_model::{AccountName, Seq};
use tokio::sync::watch;

/// Newest committed position of each account.
///
/// Owned by the hub; the committer reports its own commits at once, a poll of the store reports those of other hubs.
/// Readers wait for the tick and then read the store, so a missed wake-up costs time, never a change.
#[derive(Debug)]
pub struct Feed {
    newest: RwLock<HashMap<AccountName, Seq>>,
    tick_tx: watch::Sender<u64>,
}

// === impl Feed ===

impl Feed {
    /// Creates a feed without positions.
    pub fn new() -> Self {
        Self { newest: RwLock::default(), tick_tx: watch::Sender::new(0) }
    }

    /// Stores committed positions, and wakes the readers if any of them is new.
    pub fn advance(&self, positions: impl IntoIterator<Item = (AccountName, Seq)>) {
        let mut moved = false;
        {
            let mut newest = self.newest.write();
            for (account, seq) in positions {
                let known = newest.entry(account).or_default();
                if seq > *known {
                    *known = seq;
                    moved = true;
                }
            }
        }
        if moved {
            self.tick_tx.send_modify(|tick| *tick += 1);
        }
    }

    /// Returns the newest position of every account.
    pub fn positions(&self) -> HashMap<AccountName, Seq> {
        self.newest.read().clone()
    }

    /// Returns a receiver that changes whenever an account has new changes.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.tick_tx.subscribe()
    }
}

impl Default for Feed {
    fn default() -> Self {
        Self::new()
    }
}
