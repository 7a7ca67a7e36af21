//! Accounts with changes in their feeds.

use std::collections::HashSet;

use spindrift_model::{AccountName, TenantId};

use super::Fenced;
use super::batching::next_batch;
use super::writer::{CommitWriter, WriteMode};
use crate::store::{StoreError, row::Columns};

/// Approximate size of a condition.
const CONDITION_BYTES: usize = 128;

// === impl CommitWriter ===

impl<'w> CommitWriter<'_, 'w> {
    /// Reads the feed itself: the row counts of upserts do not distinguish an unchanged row from a new one.
    pub(super) async fn changed(
        &mut self,
        live: &[Fenced<'w>],
    ) -> Result<HashSet<(&'w TenantId, &'w AccountName)>, StoreError> {
        let mut changed = std::mem::take(&mut self.with_tombstones);
        let unknown: Vec<_> = live
            .iter()
            .filter(|fenced| !fenced.write.upserts.is_empty() && !changed.contains(&fenced.account()))
            .collect();
        let mut rest = &*unknown;
        while !rest.is_empty() {
            let (accounts, others) = next_batch(rest, WriteMode::Batched, |_| CONDITION_BYTES);
            rest = others;
            let conditions = vec!["(tenant = ? AND account = ? AND seq = ?)"; accounts.len()].join(" OR ");
            let mut statement = self.store.statement(format!(
                "SELECT DISTINCT tenant, account FROM spindrift_object WHERE {conditions}"
            ));
            for fenced in accounts {
                let (tenant, account) = fenced.account();
                statement = statement.bind(tenant.as_str()).bind(account.as_str()).bind(fenced.seq.0);
            }
            for row in statement.fetch_all("read what has changed", self.connection).await? {
                let named = (row.text("tenant")?, row.text("account")?);
                let accounts = accounts.iter().map(|fenced| fenced.account());
                changed.extend(
                    accounts.filter(|(tenant, account)| (tenant.as_str(), account.as_str()) == named),
                );
            }
        }
        Ok(changed)
    }
}
