//! A listing has ended: what it did not mention is gone.

use std::collections::HashSet;

use futures::TryStreamExt;
use spindrift_model::{ObjectKey, Scope};
use tracing::warn;

use super::writer::Writer;
use super::{AccountWrite, Fenced, Prune};
use crate::store::{StoreError, UidSet, row::Columns};

// === impl Writer ===

impl<'w> Writer<'_, 'w> {
    pub(super) async fn prune(&mut self, fenced: Fenced<'w>) -> Result<(), StoreError> {
        for Prune { scope, keep, expected } in &fenced.write.prunes {
            if self.bury_unless(fenced, scope, keep, expected).await? < expected.len() {
                warn!(account = %fenced.write.account, %scope, "a listing counted on objects that are not stored");
                self.unfounded.insert((fenced.account(), scope));
            }
        }
        Ok(())
    }

    /// Whoever counted on what is not there must begin anew: every later batch of it is stale.
    pub(super) async fn end_unfounded(&mut self) -> Result<(), StoreError> {
        let accounts: HashSet<_> = self.unfounded.iter().map(|(account, _)| *account).collect();
        for (tenant, account) in accounts {
            let text = "UPDATE spindrift_cursor SET epoch = epoch + 1, lease_until = 0 \
                        WHERE tenant = ? AND account = ?";
            let statement = self.store.statement(text).bind(tenant.as_str()).bind(account.as_str());
            statement.execute("end an unfounded attachment", self.connection).await?;
        }
        Ok(())
    }

    /// Buries the objects of a scope whose uids are not kept. They are looked through here: the uids that are kept may
    /// be a hundred thousand, the others are mostly few. Gives how many of the expected ones were met.
    pub(super) async fn bury_unless(
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
        let mut graves = Vec::new();
        let mut met = 0;
        while let Some(row) = rows.try_next().await? {
            let uid = row.text("uid")?;
            met += usize::from(expected.contains_text(uid));
            if !keep.contains_text(uid) {
                let (group, kind) = (scope.group.clone(), scope.kind.clone());
                let (namespace, name) = (row.text("namespace")?.into(), row.text("name")?.into());
                graves.push((ObjectKey { group, kind, namespace, name }, uid.into()));
            }
        }
        drop(rows);
        self.bury(fenced, &graves).await?;
        Ok(met)
    }
}
