//! An attached account, and the batches its agent has sent that are not acknowledged yet.

use std::sync::Arc;

use prometheus_client::metrics::gauge::Gauge;
use spindrift_model::{Batch, Epoch};
use spindrift_protocol::flow;

use super::{
    AccountFold, CreditBudget, FoldedBatch, Violation,
    account_lag::AccountLag,
    credit::{CreditShare, Overdraft},
};
use crate::{metrics::Metrics, store::DeriveRows};

pub(super) struct AttachedAccount {
    fold: AccountFold,
    budget: CreditBudget,
    /// Credit sent to the agent last.
    credit: u32,
    /// Largest credit sent to the agent during this attachment. A smaller one may not have reached it yet, and does not
    /// apply to earlier batches.
    largest_credit: u32,
    /// Cost of all received batches that are not acknowledged; at most the agent's own count.
    unacknowledged: usize,
    attachments: Gauge,
    lag: AccountLag,
    _share: CreditShare,
}

// === impl AttachedAccount ===

impl AttachedAccount {
    pub(super) fn new(fold: AccountFold, budget: &CreditBudget, metrics: &Arc<Metrics>) -> Self {
        let share = budget.join();
        let attachments = metrics.attachments.clone();
        attachments.inc();
        let credit = budget.credit();
        let lag = metrics.account_lags.attached(fold.account().clone());
        Self {
            fold,
            budget: budget.clone(),
            credit,
            largest_credit: credit,
            unacknowledged: 0,
            attachments,
            lag,
            _share: share,
        }
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.fold.epoch()
    }

    /// Returns the number of bytes that may be unacknowledged.
    pub(super) fn credit(&self) -> u32 {
        self.credit
    }

    /// Takes the bytes of a batch that is larger than the whole credit from the budget of all overdrafts.
    pub(super) fn overdraw(&self, batch: &Batch) -> Result<Option<Overdraft>, Violation> {
        let bytes: usize = batch.items.iter().map(flow::cost).sum();
        match bytes.saturating_sub(self.largest_credit as usize) {
            0 => Ok(None),
            beyond => self.budget.overdraw(beyond).map(Some).ok_or(Violation::Overdrawn { bytes }),
        }
    }

    /// Turns the next batch into a write, and returns the credit that the batch takes.
    pub(super) fn fold(
        &mut self,
        batch: Batch,
        rules: Arc<dyn DeriveRows>,
    ) -> Result<(FoldedBatch, usize), Violation> {
        let mut unacknowledged = self.unacknowledged;
        for item in &batch.items {
            let bytes = flow::cost(item);
            let fits = flow::fits(unacknowledged, bytes, self.largest_credit as usize);
            unacknowledged = unacknowledged.saturating_add(bytes);
            if !fits {
                return Err(Violation::OverCredit { unacknowledged, credit: self.largest_credit });
            }
        }
        let folded = self.fold.fold(batch, rules)?;
        let bytes = unacknowledged - self.unacknowledged;
        self.unacknowledged = unacknowledged;
        self.lag.received();
        Ok((folded, bytes))
    }

    /// Frees the credit of a batch. Returns the account's new credit if it has changed.
    pub(super) fn acknowledged(&mut self, bytes: usize) -> Option<u32> {
        self.unacknowledged = self.unacknowledged.saturating_sub(bytes);
        self.lag.committed();
        let credit = self.budget.credit();
        self.largest_credit = self.largest_credit.max(credit);
        (std::mem::replace(&mut self.credit, credit) != credit).then_some(credit)
    }
}

impl Drop for AttachedAccount {
    fn drop(&mut self) {
        self.attachments.dec();
    }
}

#[cfg(test)]
mod tests;
