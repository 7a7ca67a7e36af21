//! Fingerprints of the stored objects of a scope: eight bytes per object.

use futures::TryStreamExt;
use spindrift_model::{AccountName, Fingerprint, Salt, Scope, TenantId};

use super::{Store, StoreError, row::Columns};

// === impl Store ===

impl Store {
    /// The fingerprints of the objects of a scope; none if there are more than `most`.
    pub async fn fingerprints(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        scope: &Scope,
        salt: Salt,
        most: usize,
    ) -> Result<Option<Vec<Fingerprint>>, StoreError> {
        let mut connection = self.reader("connect to read fingerprints").await?;
        let mut rows = self
            .statement(
                "SELECT uid, resource_version, api_version, scrub_revision FROM spindrift_object WHERE tenant = ? \
                 AND account = ? AND api_group = ? AND kind = ? AND scope_namespace = ? AND deleted_at = 0",
            )
            .bind(tenant.as_str())
            .bind(account.as_str())
            .bind(&*scope.group)
            .bind(&*scope.kind)
            .bind(scope.namespace.as_deref().unwrap_or_default())
            .fetch("read fingerprints", &mut connection);
        let mut fingerprints = Vec::new();
        while let Some(row) = rows.try_next().await? {
            if fingerprints.len() == most {
                return Ok(None);
            }
            let (uid, version) = (row.text("uid")?.into(), row.text("resource_version")?.into());
            let api_version = row.text("api_version")?.into();
            fingerprints.push(salt.fingerprint(&uid, &version, &api_version, row.scrub_revision()?));
        }
        Ok(Some(fingerprints))
    }
}
