//! Credit: one budget of bytes for all accounts of a hub, divided equally.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// Bytes that agents may have sent and that are not acknowledged, counted by [`spindrift_protocol::flow::cost`].
///
/// Each attached account has an equal share as its credit. The agent receives it when the account is attached and again,
/// if it has changed, with acknowledgements. So the hub's memory is bounded however many accounts send at once; one object that is larger than
/// its account's credit may overdraw it.
#[derive(Debug, Clone)]
pub struct CreditBudget {
    total: usize,
    attached: Arc<AtomicUsize>,
}

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
        Self { total, attached: Arc::default() }
    }

    /// Adds an attached account, until the share is dropped.
    pub(super) fn join(&self) -> CreditShare {
        self.attached.fetch_add(1, Ordering::Relaxed);
        CreditShare(Arc::clone(&self.attached))
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
}
