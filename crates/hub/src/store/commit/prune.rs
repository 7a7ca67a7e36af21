//! Pruning: a list has ended, and the objects that it did not mention are deleted.

use std::collections::HashSet;

use futures::TryStreamExt;
use spindrift_model::{ObjectKey, Scope};
use tracing::warn;

use super::writer::CommitWriter;
use super::{AccountWrite, Fenced, Prune};
use crate::store::{StoreError, UidSet, row::Columns};

// === impl CommitWriter ===

impl<'w> CommitWriter<'_, 'w> {
    pub(super) async fn prune(&mut self, fenced: Fenced<'w>) -> Result<(), StoreError> {
        for Prune { scope, keep, expected } in &fenced.write.prunes {
            if self.delete_unless(fenced, scope, keep, expected).await? < expected.len() {
                warn!(account = %fenced.write.account, %scope, "a listing counted on objects that are not stored");
                self.missing_expected.insert((fenced.account(), scope));
            }
        }
        Ok(())
    }

    /// Ends the attachments whose lists expected missing objects: every later batch of them is stale.
    pub(super) async fn end_missing_expected(&mut self) -> Result<(), StoreError> {
        let accounts: HashSet<_> = self.missing_expected.iter().map(|(account, _)| *account).collect();
        for (tenant, account) in accounts {
            let text = "UPDATE spindrift_cursor SET epoch = epoch + 1, lease_until = 0 \
                        WHERE tenant = ? AND account = ?";
            let statement = self.store.statement(text).bind(tenant.as_str()).bind(account.as_str());
            statement.execute("end an missing_expected attachment", self.connection).await?;
        }
        Ok(())
    }

    /// Deletes the objects of a scope whose uids are not kept. They are compared here, not in SQL: a hundred thousand
    /// uids may be kept, while mostly few are not. Returns the number of expected objects that are stored.
    pub(super) async fn delete_unless(
        &mut self,
        fenced: Fenced<'w>,
        scope: &Scope,
        keep: &UidSet,
        expected: &UidSet,
    ) -> Result<usize, StoreError> {
        let AccountWrite { tenant, account, .. } = fenced.write;
        let mut rows = self
            .store
            .statement(
                "SELECT namespace, name, uid FROM spindrift_object WHERE tenant = ? AND account = ? \
                 AND api_group = ? AND kind = ? AND scope_namespace = ? AND deleted_at = 0",
            )
            .bind(tenant.as_str())
            .bind(account.as_str())
            .bind(&*scope.group)
            .bind(&*scope.kind)
            .bind(scope.namespace.as_deref().unwrap_or_default())
            .fetch("read the objects of a scope", self.connection);
        let mut deleted = Vec::new();
        let mut met = 0;
        while let Some(row) = rows.try_next().await? {
            let uid = row.text("uid")?;
            met += usize::from(expected.contains_text(uid));
            if !keep.contains_text(uid) {
                let (group, kind) = (scope.group.clone(), scope.kind.clone());
                let (namespace, name) = (row.text("namespace")?.into(), row.text("name")?.into());
                deleted.push((ObjectKey { group, kind, namespace, name }, uid.into()));
            }
        }
        drop(rows);
        self.set_tombstones(fenced, &deleted).await?;
        Ok(met)
    }
}
