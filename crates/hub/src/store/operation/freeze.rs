//! Accounts in which nothing may be changed.

use std::collections::HashMap;

use jiff::Timestamp;
use spindrift_model::{AccountName, TenantId};

use crate::store::{Store, StoreError, dialect::OnConflict, row::Columns};

/// Why an account is frozen, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freeze {
    pub reason: String,
    pub at: Timestamp,
}

const FROZEN: OnConflict = OnConflict {
    table: "spindrift_freeze",
    key: &["tenant", "account"],
    replaced: &["reason", "frozen_at"],
    only_if: None,
};

// === impl Store ===

impl Store {
    /// Lets nothing be changed in the account from here on.
    pub async fn freeze(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        reason: &str,
    ) -> Result<(), StoreError> {
        let mut connection = self.writer("connect to freeze an account").await?;
        let text =
            "INSERT INTO spindrift_freeze (tenant, account, reason, frozen_at) VALUES (?, ?, ?, {now})";
        let statement = self.statement(text).push(&self.dialect.on_conflict(&FROZEN));
        let statement = statement.bind(tenant.as_str()).bind(account.as_str()).bind(reason);
        statement.execute("freeze an account", &mut connection).await.map(drop)
    }

    /// Lets things be changed again; false if they could be.
    pub async fn unfreeze(&self, tenant: &TenantId, account: &AccountName) -> Result<bool, StoreError> {
        let mut connection = self.writer("connect to unfreeze an account").await?;
        let text = "DELETE FROM spindrift_freeze WHERE tenant = ? AND account = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(account.as_str());
        Ok(statement.execute("unfreeze an account", &mut connection).await? > 0)
    }

    /// The accounts that are frozen.
    pub async fn frozen(&self, tenant: &TenantId) -> Result<HashMap<AccountName, Freeze>, StoreError> {
        let mut connection = self.reader("connect to read frozen accounts").await?;
        let text = "SELECT account, reason, frozen_at FROM spindrift_freeze WHERE tenant = ?";
        let rows = self
            .statement(text)
            .bind(tenant.as_str())
            .fetch_all("read frozen accounts", &mut connection)
            .await?;
        rows.iter()
            .map(|row| {
                let freeze =
                    Freeze { reason: row.text("reason")?.to_owned(), at: row.timestamp("frozen_at")? };
                Ok((row.name("account")?, freeze))
            })
            .collect()
    }
}
