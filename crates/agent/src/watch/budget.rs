//! Who may list when: many accounts start at once, and each list costs memory here and work there.
//!
//! ```text
//! account attached ──▶ Groups (so many accounts at a time) ──▶ scopes ──turn──▶ own budget ──▶ total budget ──▶ room
//! ```
//!
//! Whoever waits is served in the order of arrival; nothing is polled.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout},
};

/// Lists that are open at once, whatever the budgets allow: each has some 128 KB of its body in buffers, so that all of
/// them together stay within 4 MB, and a machine has no more cores than that.
const ROOM: usize = 32;
/// Accounts that load their credentials at once: each parses a kubeconfig, in a thread and an arena of its own, and with a
/// hundred of them at once the memory would never come back.
const LOADING: usize = 4;
/// Who waits longer goes on without room: those that have it may hang on servers, or plugins, that do not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How much may be started at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Lists of all accounts; zero is no limit.
    pub total: usize,
    /// Lists of one account; zero is no limit.
    pub per_account: usize,
    /// Accounts whose watches are started together; zero is all.
    pub group_size: u32,
    /// The pause between two such groups.
    pub group_delay: Duration,
}

/// The budgets that all accounts share.
#[derive(Debug)]
pub struct Budgets {
    limits: Limits,
    total: Arc<Semaphore>,
    room: Arc<Semaphore>,
    loading: Semaphore,
    patience: Duration,
    groups: Mutex<Groups>,
}

/// The budget of one account.
#[derive(Debug)]
pub struct AccountBudget {
    own: Arc<Semaphore>,
    shared: Arc<Budgets>,
}

/// The right to list, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _own: Option<OwnedSemaphorePermit>,
    _total: Option<OwnedSemaphorePermit>,
    _room: Option<OwnedSemaphorePermit>,
}

/// The group that accounts are starting in.
#[derive(Debug, Default)]
struct Groups {
    /// When it starts, and how many accounts are in it.
    current: Option<(Instant, u32)>,
}

// === impl Budgets ===

impl Budgets {
    /// Budgets within these limits.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self::with_patience(limits, PATIENCE))
    }

    fn with_patience(limits: Limits, patience: Duration) -> Self {
        let total = Arc::new(Semaphore::new(permits(limits.total)));
        let room = Arc::new(Semaphore::new(ROOM));
        let loading = Semaphore::new(LOADING);
        Self { limits, total, room, loading, patience, groups: Mutex::default() }
    }

    /// Loads credentials when there is room for it.
    pub(crate) async fn load<T>(&self, loading: impl Future<Output = T>) -> T {
        let _room = timeout(self.patience, self.loading.acquire()).await;
        loading.await
    }

    /// The budget of one more account.
    pub fn account(self: &Arc<Self>) -> AccountBudget {
        AccountBudget {
            own: Arc::new(Semaphore::new(permits(self.limits.per_account))),
            shared: self.clone(),
        }
    }
}

/// Zero is no limit.
fn permits(limit: usize) -> usize {
    if limit == 0 { Semaphore::MAX_PERMITS } else { limit.min(Semaphore::MAX_PERMITS) }
}

// === impl AccountBudget ===

impl AccountBudget {
    /// Waits until the account's group starts.
    pub(crate) async fn start(&self) {
        let Limits { group_size, group_delay, .. } = self.shared.limits;
        if group_size > 0 && !group_delay.is_zero() {
            let start = self.shared.groups.lock().join(Instant::now(), group_size, group_delay);
            sleep_until(start).await;
        }
    }

    /// Waits for the right to list.
    pub(crate) async fn turn(&self) -> Turn {
        // None of them is ever closed. The own budget comes first, so that an account with many scopes does not stand in
        // the common queue with all of them.
        let own = self.own.clone().acquire_owned().await.ok();
        let total = self.shared.total.clone().acquire_owned().await.ok();
        let room = timeout(self.shared.patience, self.shared.room.clone().acquire_owned()).await;
        Turn { _own: own, _total: total, _room: room.ok().and_then(Result::ok) }
    }
}

// === impl Groups ===

impl Groups {
    /// Puts one more account into a group, and tells when that starts.
    fn join(&mut self, now: Instant, size: u32, delay: Duration) -> Instant {
        let (start, accounts) = match self.current {
            Some((start, accounts)) if accounts < size && now < start + delay => (start, accounts + 1),
            Some((start, _)) => (now.max(start + delay), 1),
            None => (now, 1),
        };
        self.current = Some((start, accounts));
        start
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const NO_LIMITS: Limits = Limits { total: 0, per_account: 0, group_size: 0, group_delay: Duration::ZERO };

    #[tokio::test]
    async fn lists_run_within_both_budgets() {
        let budgets = Budgets::new(Limits { total: 3, per_account: 2, ..NO_LIMITS });
        let (one, other) = (budgets.account(), budgets.account());
        let first = one.turn().await;
        let _second = one.turn().await;
        assert!(one.turn().now_or_never().is_none(), "the account's own budget is used up");
        let third = other.turn().await;
        assert!(other.turn().now_or_never().is_none(), "the total budget is used up");
        drop(first);
        assert!(other.turn().now_or_never().is_some(), "a list that ends makes place for any account");
        drop(third);
        assert!(one.turn().now_or_never().is_some());
    }

    #[tokio::test]
    async fn lists_that_hang_do_not_keep_others_from_starting() {
        let patience = Duration::from_millis(50);
        let budgets = Arc::new(Budgets::with_patience(NO_LIMITS, patience));
        let (slow, quick) = (budgets.account(), budgets.account());
        let mut hanging = Vec::new();
        for _ in 0..ROOM {
            hanging.push(slow.turn().await);
        }
        let asked = Instant::now();
        quick.turn().await;
        assert!(asked.elapsed() >= patience, "there was no room, and it waited for some");
    }

    #[test]
    fn accounts_start_in_groups_with_a_pause_in_between() {
        let (now, delay) = (Instant::now(), Duration::from_secs(5));
        let mut groups = Groups::default();
        let starts: Vec<_> = (0..5).map(|_| groups.join(now, 2, delay) - now).collect();
        assert_eq!(starts, [0, 0, 5, 5, 10].map(Duration::from_secs));
        let later = now + Duration::from_mins(1);
        assert_eq!(groups.join(later, 2, delay), later, "nobody waits when nobody else starts");
    }
}
