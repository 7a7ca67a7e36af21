//! The cursor as a fence: the transaction that advances it locks the account until it ends.

use super::writer::CommitWriter;
use super::{AccountWrite, Fenced};
use crate::store::StoreError;

// === impl CommitWriter ===

impl CommitWriter<'_, '_> {
    /// Advances the cursors in name order, so that two hubs never wait for each other; stale writes become none.
    pub(super) async fn fence<'a>(
        &mut self,
        writes: &'a [AccountWrite],
    ) -> Result<Vec<Option<Fenced<'a>>>, StoreError> {
        let mut order: Vec<(usize, &AccountWrite)> = writes.iter().enumerate().collect();
        order.sort_by_key(|(_, write)| (&write.tenant, &write.account));
        for pair in order.windows(2) {
            if let [(_, one), (_, other)] = pair
                && (&one.tenant, &one.account) == (&other.tenant, &other.account)
            {
                return Err(StoreError::RepeatedAccount { account: one.account.clone() });
            }
        }

        let mut fenced = vec![None; writes.len()];
        for (index, write) in order {
            let advanced = self
                .store
                .statement(
                    // A lease that was given back stays so, though its last batches are still on their way. Rows that
                    // were behind, or are by other rules, stay so until they are derived again. `seq` after them: MySQL
                    // would let them see the new one.
                    "UPDATE spindrift_cursor SET \
                     rows_rules = CASE WHEN rows_rules = ? OR seq = 0 THEN ? ELSE '' END, \
                     rows_seq = CASE WHEN rows_seq = seq THEN rows_seq + 1 ELSE rows_seq END, seq = seq + 1, \
                     lease_until = CASE WHEN lease_until = 0 THEN 0 ELSE {now} + ? END \
                     WHERE tenant = ? AND account = ? AND epoch = ? AND seq = ?",
                )
                .bind(write.rules.revision())
                .bind(write.rules.revision())
                .bind(write.lease)
                .bind(write.tenant.as_str())
                .bind(write.account.as_str())
                .bind(write.cursor.epoch.0)
                .bind(write.cursor.seq.0)
                .execute("advance a cursor", self.connection)
                .await?;
            if advanced > 0
                && let Some(slot) = fenced.get_mut(index)
            {
                *slot = Some(Fenced { write, seq: write.cursor.seq.next() });
            }
        }
        Ok(fenced)
    }
}
