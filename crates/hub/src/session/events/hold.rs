//! An attached account, with what its agent has sent and not heard about.

use std::sync::Arc;

use prometheus_client::metrics::gauge::Gauge;
use spindrift_model::{Batch, Epoch, Item, Upsert};

use crate::{
    cache::{Attachment, Folded, Violation},
    metrics::Metrics,
    session::budget::{Budget, Share},
};

/// What an item takes beside its body.
const OVERHEAD: usize = 256;

pub(super) struct Hold {
    attachment: Attachment,
    budget: Budget,
    /// What the agent was told last.
    credit: u32,
    unacknowledged: usize,
    attachments: Gauge,
    _share: Share,
}

// === impl Hold ===

impl Hold {
    pub(super) fn new(attachment: Attachment, budget: &Budget, metrics: &Arc<Metrics>) -> Self {
        let share = budget.join();
        let attachments = metrics.attachments.clone();
        attachments.inc();
        let credit = budget.credit();
        Self { attachment, budget: budget.clone(), credit, unacknowledged: 0, attachments, _share: share }
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.attachment.epoch()
    }

    /// How many bytes may be unacknowledged.
    pub(super) fn credit(&self) -> u32 {
        self.credit
    }

    /// Turns the next batch into a write, and says how much credit it takes.
    pub(super) fn fold(&mut self, batch: Batch) -> Result<(Folded, usize), Violation> {
        // One batch, with an object of any size, may overdraw; a second one then may not follow.
        if self.unacknowledged > Budget::tolerated() {
            return Err(Violation::OverCredit { unacknowledged: self.unacknowledged, credit: self.credit });
        }
        let bytes = batch.items.iter().map(cost).sum();
        let folded = self.attachment.fold(batch)?;
        self.unacknowledged += bytes;
        Ok((folded, bytes))
    }

    /// Gives back what a batch took; gives the account's new credit if it has another one by now.
    pub(super) fn acknowledged(&mut self, bytes: usize) -> Option<u32> {
        self.unacknowledged = self.unacknowledged.saturating_sub(bytes);
        let credit = self.budget.credit();
        (std::mem::replace(&mut self.credit, credit) != credit).then_some(credit)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.attachments.dec();
    }
}

fn cost(item: &Item) -> usize {
    match item {
        Item::Upsert(Upsert { body, .. }) => OVERHEAD + body.len(),
        Item::Mention { uids, .. } => uids.iter().map(|uid| uid.as_str().len()).sum(),
        _ => OVERHEAD,
    }
}
