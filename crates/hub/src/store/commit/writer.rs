//! One open commit.

use std::collections::HashSet;

use spindrift_model::{AccountName, ObjectKey, Scope, TenantId};
use sqlx::{AnyConnection, Connection};

use super::{AccountWrite, Fenced, RejectedRow};
use crate::store::statement::Statement;
use crate::store::{Store, StoreError};

/// Mode in which rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    /// As many as fit.
    Batched,
    /// Each in a savepoint, so that a refused one rolls back nothing else.
    Isolated,
}

/// State of one commit. The connection lives as long as the transaction, the writes live longer.
pub(super) struct CommitWriter<'c, 'w> {
    pub(super) store: &'c Store,
    pub(super) connection: &'c mut AnyConnection,
    pub(super) mode: WriteMode,
    /// Accounts with tombstones of this commit.
    pub(super) with_tombstones: HashSet<(&'w TenantId, &'w AccountName)>,
    /// Lists that expected objects which are not stored.
    pub(super) missing_expected: HashSet<((&'w TenantId, &'w AccountName), &'w Scope)>,
    rejected: Vec<RejectedRow>,
}

// === impl CommitWriter ===

impl<'c> CommitWriter<'c, '_> {
    pub(super) fn new(store: &'c Store, connection: &'c mut AnyConnection, mode: WriteMode) -> Self {
        Self {
            store,
            connection,
            mode,
            with_tombstones: HashSet::new(),
            missing_expected: HashSet::new(),
            rejected: Vec::new(),
        }
    }

    pub(super) fn into_rejected(self) -> Vec<RejectedRow> {
        self.rejected
    }

    /// Executes a statement about objects; in isolated mode, about this one.
    pub(super) async fn execute(
        &mut self,
        step: &'static str,
        statement: Statement,
        key: &ObjectKey,
    ) -> Result<u64, StoreError> {
        if self.mode == WriteMode::Batched {
            return statement.execute(step, self.connection).await;
        }
        let mut savepoint = self.connection.begin().await.map_err(StoreError::at("set a savepoint"))?;
        match statement.execute(step, &mut savepoint).await {
            Ok(rows) => {
                savepoint.commit().await.map_err(StoreError::at("release a savepoint"))?;
                Ok(rows)
            }
            Err(error) if error.is_refusal() => {
                savepoint.rollback().await.map_err(StoreError::at("roll back to a savepoint"))?;
                self.reject(key, &error);
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn is_rejected(&self, key: &ObjectKey) -> bool {
        self.rejected.iter().any(|rejected| rejected.key == *key)
    }

    pub(super) fn reject(&mut self, key: &ObjectKey, error: &StoreError) {
        self.rejected.push(RejectedRow { key: key.clone(), reason: error.reason() });
    }
}

// === impl Fenced ===

impl<'a> Fenced<'a> {
    pub(super) fn account(&self) -> (&'a TenantId, &'a AccountName) {
        let AccountWrite { tenant, account, .. } = self.write;
        (tenant, account)
    }
}
