//! One transaction in the making.

use std::collections::HashSet;

use spindrift_model::{AccountName, ObjectKey, Scope, TenantId};
use sqlx::{AnyConnection, Connection};

use super::{AccountWrite, Fenced, RejectedRow};
use crate::store::statement::Statement;
use crate::store::{Store, StoreError};

/// How rows are put into statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// As many as fit.
    Together,
    /// Each in a savepoint, so that a refused one takes nothing with it.
    RowByRow,
}

/// The connection lives as long as the transaction, what is written longer.
pub(super) struct Writer<'c, 'w> {
    pub(super) store: &'c Store,
    pub(super) connection: &'c mut AnyConnection,
    pub(super) care: Care,
    /// Accounts of which an object is known to have changed.
    pub(super) buried: HashSet<(&'w TenantId, &'w AccountName)>,
    /// Listings that counted on objects which are not there.
    pub(super) unfounded: HashSet<((&'w TenantId, &'w AccountName), &'w Scope)>,
    rejected: Vec<RejectedRow>,
}

// === impl Writer ===

impl<'c> Writer<'c, '_> {
    pub(super) fn new(store: &'c Store, connection: &'c mut AnyConnection, care: Care) -> Self {
        Self {
            store,
            connection,
            care,
            buried: HashSet::new(),
            unfounded: HashSet::new(),
            rejected: Vec::new(),
        }
    }

    pub(super) fn into_rejected(self) -> Vec<RejectedRow> {
        self.rejected
    }

    /// Executes a statement about objects; if care is taken, about this one.
    pub(super) async fn execute(
        &mut self,
        step: &'static str,
        statement: Statement,
        key: &ObjectKey,
    ) -> Result<u64, StoreError> {
        if self.care == Care::Together {
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
