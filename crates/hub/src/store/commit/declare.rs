//! Declared scopes: those that the agent watches from here on.

use spindrift_model::Scope;

use super::writer::CommitWriter;
use super::{AccountWrite, DeclaredScopes, Fenced};
use crate::store::dialect::OnConflict;
use crate::store::scope::{self, ScopeRow};
use crate::store::{StoreError, UidSet};

const DECLARED: OnConflict = OnConflict {
    table: "spindrift_scope",
    key: &["tenant", "account", "api_group", "kind", "scope_namespace"],
    replaced: &["plural", "namespaced", "api_version", "scrub_revision", "resource_version", "reached_at"],
    only_if: None,
};

/// The column's width; an API server's refusal is some two hundred characters long.
const REASON: usize = 1000;

// === impl CommitWriter ===

impl<'w> CommitWriter<'_, 'w> {
    /// Stores the declared scopes; the others are deleted with their objects, unless the discovery of their group failed.
    pub(super) async fn declare(&mut self, fenced: Fenced<'w>) -> Result<(), StoreError> {
        let AccountWrite { tenant, account, declared, .. } = fenced.write;
        let Some(DeclaredScopes { scopes, keep_groups, denied }) = declared else { return Ok(()) };
        let stored = scope::stored(self.store, tenant, account, self.connection).await?;

        let nothing = UidSet::default();
        for scope in stored.iter().map(|stored| &stored.row.scope) {
            let is_declared = scopes.iter().any(|declared| declared.scope == *scope);
            if !is_declared && !keep_groups.contains(&scope.group) {
                self.delete_unless(fenced, scope, &nothing, &nothing).await?;
                self.forget(fenced, scope).await?;
            }
        }
        for declared in scopes {
            if !stored.iter().any(|stored| stored.row == *declared) {
                self.store_scope(fenced, declared).await?;
            }
            let before = stored.iter().find(|stored| stored.row.scope == declared.scope);
            let before = before.and_then(|stored| stored.denied.as_deref()).unwrap_or_default();
            let reason: String = denied
                .get(&declared.scope)
                .into_iter()
                .flat_map(|reason| reason.chars())
                .take(REASON)
                .collect();
            if before != reason {
                self.store_denial(fenced, &declared.scope, &reason).await?;
            }
        }
        Ok(())
    }

    /// Stores the denial of a scope; its objects and its resource version stay.
    async fn store_denial(
        &mut self,
        fenced: Fenced<'w>,
        scope: &Scope,
        reason: &str,
    ) -> Result<(), StoreError> {
        self.store
            .statement(
                "UPDATE spindrift_scope SET denied = ? \
                 WHERE tenant = ? AND account = ? AND api_group = ? AND kind = ? AND scope_namespace = ?",
            )
            .bind(reason)
            .bind(fenced.write.tenant.as_str())
            .bind(fenced.write.account.as_str())
            .bind(&*scope.group)
            .bind(&*scope.kind)
            .bind(scope.namespace.as_deref().unwrap_or_default())
            .execute("store whether a scope is denied", self.connection)
            .await
            .map(drop)
    }

    async fn forget(&mut self, fenced: Fenced<'w>, scope: &Scope) -> Result<(), StoreError> {
        self.store
            .statement(
                "DELETE FROM spindrift_scope \
                 WHERE tenant = ? AND account = ? AND api_group = ? AND kind = ? AND scope_namespace = ?",
            )
            .bind(fenced.write.tenant.as_str())
            .bind(fenced.write.account.as_str())
            .bind(&*scope.group)
            .bind(&*scope.kind)
            .bind(scope.namespace.as_deref().unwrap_or_default())
            .execute("forget a scope", self.connection)
            .await
            .map(drop)
    }

    /// A scope that is new, or is read or scrubbed in another way than before, has to be listed.
    async fn store_scope(&mut self, fenced: Fenced<'w>, declared: &ScopeRow) -> Result<(), StoreError> {
        let ScopeRow { scope, plural, namespaced, api_version, scrub_revision } = declared;
        self.store
            .statement(
                "INSERT INTO spindrift_scope (tenant, account, api_group, kind, scope_namespace, plural, namespaced, \
                 api_version, scrub_revision, resource_version, reached_at) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', {now})",
            )
            .push(&self.store.dialect.on_conflict(&DECLARED))
            .bind(fenced.write.tenant.as_str())
            .bind(fenced.write.account.as_str())
            .bind(&*scope.group)
            .bind(&*scope.kind)
            .bind(scope.namespace.as_deref().unwrap_or_default())
            .bind(&**plural)
            .bind(i64::from(*namespaced))
            .bind(api_version.as_str())
            .bind(i64::from(scrub_revision.0))
            .execute("store a scope", self.connection)
            .await
            .map(drop)
    }
}
