//! Operations of agents, the latest first.

use spindrift_model::{AccountName, TenantId};

use super::{COLUMNS, OperationRow, OperationState};
use crate::store::{Store, StoreError};

/// Which operations.
#[derive(Debug, Clone, Default)]
pub struct OperationQuery {
    pub account: Option<AccountName>,
    pub state: Option<OperationState>,
    pub limit: u32,
    /// Number of operations to skip.
    pub offset: u32,
}

// === impl Store ===

impl Store {
    /// Operations, the latest first.
    pub async fn operations(
        &self,
        tenant: &TenantId,
        query: &OperationQuery,
    ) -> Result<Vec<OperationRow>, StoreError> {
        let OperationQuery { account, state, limit, offset } = query;
        let mut statement = self.statement(COLUMNS).push(" WHERE tenant = ?").bind(tenant.as_str());
        if let Some(account) = account {
            statement = statement.push(" AND account = ?").bind(account.as_str());
        }
        if let Some(state) = state {
            statement = statement.push(" AND state = ?").bind(state.word());
        }
        let statement = statement
            .push(" ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?")
            .bind(i64::from(*limit))
            .bind(i64::from(*offset));
        let mut connection = self.reader("connect to read operations").await?;
        let rows = statement.fetch_all("read operations", &mut connection).await?;
        rows.iter().map(OperationRow::read).collect()
    }
}
