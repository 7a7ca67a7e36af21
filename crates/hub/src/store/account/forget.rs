//! Forgetting an account that nobody serves any more.

use spindrift_model::{AccountName, TenantId};

use crate::store::{Store, StoreError};

/// What belongs to an account, with the column that names it; the account itself last.
const TABLES: [(&str, &str); 4] = [
    ("spindrift_row", "account"),
    ("spindrift_object", "account"),
    ("spindrift_scope", "account"),
    ("spindrift_account", "name"),
];

// === impl Store ===

impl Store {
    /// Removes an account and all that was cached of it.
    ///
    /// Its cursor stays and moves on: should the name come back, no late batch fits it, and a reader who knows the
    /// old objects is told to forget them.
    pub async fn forget_account(&self, tenant: &TenantId, account: &AccountName) -> Result<(), StoreError> {
        let mut transaction = self.begin("begin to forget an account").await?;
        self.statement(
            "UPDATE spindrift_cursor SET epoch = epoch + 1, feed_floor = seq + 1, lease_until = 0 \
             WHERE tenant = ? AND account = ?",
        )
        .bind(tenant.as_str())
        .bind(account.as_str())
        .execute("end the account's stream", &mut transaction)
        .await?;
        // Apart: MySQL would let the statement above see the new `seq`.
        let text = "UPDATE spindrift_cursor SET seq = feed_floor, rows_seq = feed_floor WHERE tenant = ? AND account = ?";
        self.statement(text)
            .bind(tenant.as_str())
            .bind(account.as_str())
            .execute("move the account's feed on", &mut transaction)
            .await?;
        for (table, column) in TABLES {
            self.statement(format!("DELETE FROM {table} WHERE tenant = ? AND {column} = ?"))
                .bind(tenant.as_str())
                .bind(account.as_str())
                .execute("forget an account", &mut transaction)
                .await?;
        }
        transaction.commit().await.map_err(StoreError::at("commit a forgotten account"))
    }
}
