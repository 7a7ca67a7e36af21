//! Credit: one budget of bytes for all accounts of a hub, divided equally.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that agents may have sent and that are not acknowledged, counted by [`spindrift_protocol::flow::cost`].
///
/// Each attached account has an equal share as its credit. The agent receives it when the account is attached and again,
/// if it has changed, with acknowledgements. So the hub's memory is bounded however many accounts send at once. One object
/// that is larger than its account's credit may overdraw it; all overdrafts have a budget of their own.
#[derive(Debug, Clone)]
pub struct CreditBudget {
    total: usize,
    attached: Arc<AtomicUsize>,
    /// Kibibytes that may be overdrawn.
    overdrafts: Arc<Semaphore>,
}

/// Bytes beyond an account's credit, until their batch is committed.
#[derive(Debug)]
pub(super) struct Overdraft(
    #[expect(dead_code, reason = "releases its kibibytes when dropped")] OwnedSemaphorePermit,
);

/// Kibibytes of all overdrafts: three of the largest messages, or a hundred objects as large as API servers usually allow.
const OVERDRAFT_KIB: usize = 96 * 1024;

/// Share of one attached account.
#[derive(Debug)]
pub(super) struct CreditShare(Arc<AtomicUsize>);

/// Unacknowledged bytes per account: enough to keep a link of 100 ms busy at 40 Mbit/s, before compression.
const LARGEST: usize = 512 * 1024;

/// With less, every object would wait for the one before it.
const SMALLEST: usize = 32 * 1024;

// === impl CreditBudget ===

impl CreditBudget {
    /// Creates a budget of `total` bytes.
    pub fn new(total: usize) -> Self {
        Self { total, attached: Arc::default(), overdrafts: Arc::new(Semaphore::new(OVERDRAFT_KIB)) }
    }

    /// Adds an attached account, until the share is dropped.
    pub(super) fn join(&self) -> CreditShare {
        self.attached.fetch_add(1, Ordering::Relaxed);
        CreditShare(Arc::clone(&self.attached))
    }

    /// Takes bytes beyond an account's credit; none if other overdrafts use them.
    pub(super) fn overdraw(&self, bytes: usize) -> Option<Overdraft> {
        let kibibytes = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX);
        Arc::clone(&self.overdrafts).try_acquire_many_owned(kibibytes).ok().map(Overdraft)
    }

    /// Returns the bytes that each account may have unacknowledged now.
    pub(super) fn credit(&self) -> u32 {
        let share = self.total / self.attached.load(Ordering::Relaxed).max(1);
        u32::try_from(share.clamp(SMALLEST, LARGEST)).unwrap_or(u32::MAX)
    }
}

// === impl CreditShare ===

impl Drop for CreditShare {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_divided_among_attached_accounts() {
        let budget = CreditBudget::new(8 * LARGEST);
        let mut shares: Vec<_> = (0..8).map(|_| budget.join()).collect();
        assert_eq!(budget.credit() as usize, LARGEST);
        shares.extend((0..8).map(|_| budget.join()));
        assert_eq!(budget.credit() as usize, LARGEST / 2);
        shares.extend((0..1000).map(|_| budget.join()));
        assert_eq!(budget.credit() as usize, SMALLEST, "every account can make progress");
        shares.truncate(2);
        assert_eq!(budget.credit() as usize, LARGEST);
    }

    #[test]
    fn overdrafts_are_bounded_over_all_accounts() {
        let budget = CreditBudget::new(LARGEST);
        let large = 30 << 20;
        let held: Vec<_> = (0..9).map_while(|_| budget.overdraw(large)).collect();
        assert_eq!(held.len(), 3);
        assert!(budget.clone().overdraw(large).is_none(), "clones share it");
        drop(held);
        assert!(budget.overdraw(large).is_some());
    }
}
