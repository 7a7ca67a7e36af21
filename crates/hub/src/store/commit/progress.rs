//! Resource versions that scopes have reached.

use indexmap::IndexMap;
use spindrift_model::{ResourceVersion, Scope};

use super::batching::next_batch;
use super::writer::{CommitWriter, WriteMode};
use super::{Fenced, ScopeProgress};
use crate::store::StoreError;
use crate::store::dialect::OnConflict;

const REACHED: OnConflict = OnConflict {
    table: "spindrift_scope",
    key: &["tenant", "account", "api_group", "kind", "scope_namespace"],
    replaced: &["resource_version", "reached_at"],
    only_if: None,
};

/// Approximate size of a row.
const ROW_BYTES: usize = 512;

// === impl CommitWriter ===

impl<'w> CommitWriter<'_, 'w> {
    /// Stores the versions reached by all accounts. The rows are there, since scopes are declared first; an insert that
    /// meets them is the only update of many rows that all databases support.
    pub(super) async fn progress(&mut self, live: &[Fenced<'w>]) -> Result<(), StoreError> {
        let rows: Vec<_> = live.iter().copied().flat_map(latest).collect();
        let conflict = self.store.dialect.on_conflict(&REACHED);
        let mut rest = &*rows;
        while !rest.is_empty() {
            let (rows, others) = next_batch(rest, WriteMode::Batched, |_| ROW_BYTES);
            rest = others;
            let values = vec!["(?, ?, ?, ?, ?, '', 0, '', 0, ?, {now})"; rows.len()].join(", ");
            let mut statement = self.store.statement(format!(
                "INSERT INTO spindrift_scope (tenant, account, api_group, kind, scope_namespace, plural, namespaced, \
                 api_version, scrub_revision, resource_version, reached_at) VALUES {values}{conflict}"
            ));
            for (fenced, progress) in rows {
                let ScopeProgress { scope, resource_version } = progress;
                let founded = !self.missing_expected.contains(&(fenced.account(), scope));
                let reached = resource_version.as_ref().filter(|_| founded).map(ResourceVersion::as_str);
                statement = statement
                    .bind(fenced.write.tenant.as_str())
                    .bind(fenced.write.account.as_str())
                    .bind(&*scope.group)
                    .bind(&*scope.kind)
                    .bind(scope.namespace.as_deref().unwrap_or_default())
                    .bind(reached.unwrap_or_default());
            }
            statement.execute("store the versions of scopes", self.connection).await?;
        }
        Ok(())
    }
}

/// One row per scope, the last.
fn latest(fenced: Fenced<'_>) -> impl Iterator<Item = (Fenced<'_>, &ScopeProgress)> {
    let last: IndexMap<&Scope, &ScopeProgress> =
        fenced.write.scopes.iter().map(|progress| (&progress.scope, progress)).collect();
    last.into_values().map(move |progress| (fenced, progress))
}
