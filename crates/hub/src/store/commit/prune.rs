//! A listing has ended: what it did not mention is gone.

use futures::TryStreamExt;
use spindrift_model::{ObjectKey, Scope};

use super::writer::Writer;
use super::{AccountWrite, Fenced, Prune};
use crate::store::{StoreError, UidSet, row::Columns};

// === impl Writer ===

impl<'w> Writer<'_, 'w> {
    pub(super) async fn prune(&mut self, fenced: Fenced<'w>) -> Result<(), StoreError> {
        for Prune { scope, keep } in &fenced.write.prunes {
            self.bury_unless(fenced, scope, keep).await?;
        }
        Ok(())
    }

    /// Buries the objects of a scope whose uids are not kept. They are looked through here: the uids that are kept may
    /// be a hundred thousand, the others are mostly few.
    pub(super) async fn bury_unless(
        &mut self,
        fenced: Fenced<'w>,
        scope: &Scope,
        keep: &UidSet,
    ) -> Result<(), StoreError> {
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
        while let Some(row) = rows.try_next().await? {
            let uid = row.text("uid")?;
            if !keep.contains_text(uid) {
                let (group, kind) = (scope.group.clone(), scope.kind.clone());
                let (namespace, name) = (row.text("namespace")?.into(), row.text("name")?.into());
                graves.push((ObjectKey { group, kind, namespace, name }, uid.into()));
            }
        }
        drop(rows);
        self.bury(fenced, &graves).await
    }
}
