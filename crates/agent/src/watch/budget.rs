//! Concurrency of lists: many accounts start at once, and each list costs memory here and work on the API server.
//!
//! ```text
//! account attached ──▶ Groups (so many accounts at a time) ──▶ scopes ──▶ own budget ──▶ total budget ──▶ open lists
//! ```
//!
//! Waiters are served in the order of arrival; nothing is polled.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until, timeout},
};

/// Largest number of open lists, independent of the budgets: each has some 128 KB of its body in buffers, so that all of
/// them together stay within 4 MB, and a machine has no more cores than that.
pub(crate) const OPEN_LISTS: usize = 32;
/// Accounts that load their credentials at once: each parses a kubeconfig, in a thread and an arena of its own, and with a
/// hundred of them at once the memory would never be returned.
const LOADING: usize = 4;
/// Longest wait for an open list or for loading, after which it continues without a permit: the holders may hang on servers
/// or plugins that do not respond.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Limits of concurrent lists and of starting accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Lists of all accounts; zero is no limit.
    pub total: usize,
    /// Lists of one account; zero is no limit.
    pub per_account: usize,
    /// Accounts whose watches are started together; zero is all.
    pub group_size: u32,
    /// Pause between two such groups.
    pub group_delay: Duration,
}

/// Budgets that all accounts share.
#[derive(Debug)]
pub struct Budgets {
    limits: Limits,
    total: Arc<Semaphore>,
    open: Arc<Semaphore>,
    loading: Semaphore,
    max_wait: Duration,
    groups: Mutex<Groups>,
}

/// Budget of one account.
#[derive(Debug)]
pub struct AccountBudget {
    own: Arc<Semaphore>,
    shared: Arc<Budgets>,
}

/// Permit to list; freed when dropped.
#[derive(Debug)]
pub(crate) struct ListPermit {
    _own: Option<OwnedSemaphorePermit>,
    _total: Option<OwnedSemaphorePermit>,
    _open: Option<OwnedSemaphorePermit>,
}

/// Current group of accounts that start together.
#[derive(Debug, Default)]
struct Groups {
    /// Its start, and the number of its accounts.
    current: Option<(Instant, u32)>,
}

// === impl Budgets ===

impl Budgets {
    /// Returns budgets with these limits.
    pub fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self::with_max_wait(limits, MAX_WAIT))
    }

    fn with_max_wait(limits: Limits, max_wait: Duration) -> Self {
        let total = Arc::new(Semaphore::new(permits(limits.total)));
        let open = Arc::new(Semaphore::new(OPEN_LISTS));
        let loading = Semaphore::new(LOADING);
        Self { limits, total, open, loading, max_wait, groups: Mutex::default() }
    }

    /// Loads credentials within the limit of concurrent loads.
    pub(crate) async fn load<T>(&self, loading: impl Future<Output = T>) -> T {
        let _permit = timeout(self.max_wait, self.loading.acquire()).await;
        loading.await
    }

    /// Returns the budget of one more account.
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

    /// Waits for the permit to list.
    pub(crate) async fn list_permit(&self) -> ListPermit {
        // None of them is ever closed. The own budget comes first, so that an account with many scopes does not fill the
        // common queue with all of them.
        let own = self.own.clone().acquire_owned().await.ok();
        let total = self.shared.total.clone().acquire_owned().await.ok();
        let open = timeout(self.shared.max_wait, self.shared.open.clone().acquire_owned()).await;
        ListPermit { _own: own, _total: total, _open: open.ok().and_then(Result::ok) }
    }
}

// === impl Groups ===

impl Groups {
    /// Adds one more account to a group, and returns its start.
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
        let first = one.list_permit().await;
        let _second = one.list_permit().await;
        assert!(one.list_permit().now_or_never().is_none(), "the account's own budget is used up");
        let third = other.list_permit().await;
        assert!(other.list_permit().now_or_never().is_none(), "the total budget is used up");
        drop(first);
        assert!(
            other.list_permit().now_or_never().is_some(),
            "a list that ends frees its permit for any account"
        );
        drop(third);
        assert!(one.list_permit().now_or_never().is_some());
    }

    #[tokio::test]
    async fn lists_that_hang_do_not_keep_others_from_starting() {
        let max_wait = Duration::from_millis(50);
        let budgets = Arc::new(Budgets::with_max_wait(NO_LIMITS, max_wait));
        let (slow, quick) = (budgets.account(), budgets.account());
        let mut hanging = Vec::new();
        for _ in 0..OPEN_LISTS {
            hanging.push(slow.list_permit().await);
        }
        let requested = Instant::now();
        quick.list_permit().await;
        assert!(requested.elapsed() >= max_wait, "it waited for the others first");
    }

    #[test]
    fn accounts_start_in_groups_with_a_pause_in_between() {
        let (now, delay) = (Instant::now(), Duration::from_secs(5));
        let mut groups = Groups::default();
        let starts: Vec<_> = (0..5).map(|_| groups.join(now, 2, delay) - now).collect();
        assert_eq!(starts, [0, 0, 5, 5, 10].map(Duration::from_secs));
        let later = now + Duration::from_mins(1);
        assert_eq!(groups.join(later, 2, delay), later, "a lone account does not wait");
    }
}
