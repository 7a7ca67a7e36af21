//! Deletion of an account that no agent serves any more.

use std::time::Duration;

use spindrift_model::{AccountName, AgentId, TenantId};
use sqlx::AnyConnection;

use crate::store::{Store, StoreError, row::Columns};

/// Outcome of the deletion of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forgotten {
    Done,
    /// There is none of this name.
    Unknown,
    /// An agent serves it, or stands by for it.
    Served {
        agent: AgentId,
    },
}

/// An account that no agent serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnservedAccount {
    pub name: AccountName,
    /// Time since the first look that found no agent.
    pub unserved_for: Duration,
}

/// Tables with rows of an account, and the column that names it; the account itself last.
const TABLES: [(&str, &str); 4] = [
    ("spindrift_row", "account"),
    ("spindrift_object", "account"),
    ("spindrift_scope", "account"),
    ("spindrift_account", "name"),
];

/// Between the announcement of an account and the session that serves it, all others of its agent are announced.
const ANNOUNCING: Duration = Duration::from_secs(10);

// === impl Store ===

impl Store {
    /// Deletes an account and all its cached objects, even if an agent serves it.
    ///
    /// Its cursor stays and advances: if the name is used again, late batches are stale, and readers of the feed get a
    /// reset.
    pub async fn forget_account(&self, tenant: &TenantId, account: &AccountName) -> Result<(), StoreError> {
        let mut transaction = self.begin("begin to forget an account").await?;
        self.forget(tenant, account, &mut transaction).await?;
        self.commit_transaction(transaction, "commit a forgotten account").await
    }

    /// Deletes an account only if no agent serves it that was alive within this time.
    pub async fn forget_unserved(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        within: Duration,
    ) -> Result<Forgotten, StoreError> {
        let mut transaction = self.begin("begin to forget an account").await?;
        // An agent that announces it at this moment waits for that row, or has locked it, and then we wait.
        let known = self
            .statement("SELECT name FROM spindrift_account WHERE tenant = ? AND name = ? {for update}")
            .bind(tenant.as_str())
            .bind(account.as_str())
            .fetch_optional("read an account", &mut transaction)
            .await?;
        if known.is_none() {
            return Ok(Forgotten::Unknown);
        }
        if let Some(agent) = self.server(tenant, account, within, &mut transaction).await? {
            return Ok(Forgotten::Served { agent });
        }
        self.forget(tenant, account, &mut transaction).await?;
        self.commit_transaction(transaction, "commit a forgotten account").await?;
        Ok(Forgotten::Done)
    }

    /// Returns the accounts that no agent serves which was alive within this time, and for how long; records for new ones
    /// that their time begins now, and for others that it has ended. An agent that is configured for an account and
    /// cannot reach its cluster counts: the account has not left.
    pub async fn unserved_accounts(
        &self,
        tenant: &TenantId,
        within: Duration,
    ) -> Result<Vec<UnservedAccount>, StoreError> {
        const SERVED: &str = "(last_seen >= {now} - ? OR EXISTS (SELECT 1 FROM spindrift_session_account a \
            JOIN spindrift_session s ON s.id = a.session WHERE a.tenant = spindrift_account.tenant \
            AND a.account = spindrift_account.name AND s.closed_at = 0 AND s.last_seen >= {now} - ?) \
            OR EXISTS (SELECT 1 FROM spindrift_unavailable_account u \
            JOIN spindrift_session s ON s.id = u.session WHERE u.tenant = spindrift_account.tenant \
            AND u.account = spindrift_account.name AND s.closed_at = 0 AND s.last_seen >= {now} - ?) \
            OR EXISTS (SELECT 1 FROM spindrift_cursor c WHERE c.tenant = spindrift_account.tenant \
            AND c.account = spindrift_account.name AND c.lease_until > {now}))";
        let mut transaction = self.begin("begin to look for accounts without an agent").await?;
        for text in [
            format!(
                "UPDATE spindrift_account SET unserved_since = 0 WHERE tenant = ? AND unserved_since > 0 AND {SERVED}"
            ),
            format!(
                "UPDATE spindrift_account SET unserved_since = {{now}} WHERE tenant = ? AND unserved_since = 0 \
                 AND NOT {SERVED}"
            ),
        ] {
            self.statement(text)
                .bind(tenant.as_str())
                .bind(ANNOUNCING)
                .bind(within)
                .bind(within)
                .execute("record accounts without an agent", &mut transaction)
                .await?;
        }
        let rows = self
            .statement(
                "SELECT name, {now} - unserved_since AS unserved_for FROM spindrift_account \
                 WHERE tenant = ? AND unserved_since > 0 ORDER BY name",
            )
            .bind(tenant.as_str())
            .fetch_all("read accounts without an agent", &mut transaction)
            .await?;
        transaction.commit().await.map_err(StoreError::at("commit accounts without an agent"))?;
        rows.iter()
            .map(|row| {
                Ok(UnservedAccount { name: row.name("name")?, unserved_for: row.duration("unserved_for")? })
            })
            .collect()
    }

    /// An agent that serves the account, or may at any moment.
    async fn server(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        within: Duration,
        connection: &mut AnyConnection,
    ) -> Result<Option<AgentId>, StoreError> {
        let accepted = self
            .statement(
                "SELECT s.agent_id AS agent FROM spindrift_session_account a \
                 JOIN spindrift_session s ON s.id = a.session \
                 WHERE a.tenant = ? AND a.account = ? AND s.closed_at = 0 AND s.last_seen >= {now} - ?",
            )
            .bind(tenant.as_str())
            .bind(account.as_str())
            .bind(within)
            .fetch_all("read who serves an account", connection)
            .await?;
        let announced = self
            .statement(
                "SELECT agent_id AS agent FROM spindrift_account \
                 WHERE tenant = ? AND name = ? AND last_seen >= {now} - ?",
            )
            .bind(tenant.as_str())
            .bind(account.as_str())
            .bind(ANNOUNCING)
            .fetch_all("read who announced an account", connection)
            .await?;
        let holders = self
            .statement(
                "SELECT holder_agent AS agent FROM spindrift_cursor \
                 WHERE tenant = ? AND account = ? AND lease_until > {now}",
            )
            .bind(tenant.as_str())
            .bind(account.as_str())
            .fetch_all("read who holds an account", connection)
            .await?;
        holders.iter().chain(&accepted).chain(&announced).next().map(|row| row.name("agent")).transpose()
    }

    async fn forget(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        self.statement(
            "UPDATE spindrift_cursor SET epoch = epoch + 1, feed_floor = seq + 1, lease_until = 0 \
             WHERE tenant = ? AND account = ?",
        )
        .bind(tenant.as_str())
        .bind(account.as_str())
        .execute("end the account's stream", connection)
        .await?;
        // Apart: MySQL would let the statement above see the new `seq`.
        let text = "UPDATE spindrift_cursor SET seq = feed_floor, rows_seq = feed_floor WHERE tenant = ? AND account = ?";
        self.statement(text)
            .bind(tenant.as_str())
            .bind(account.as_str())
            .execute("move the account's feed on", connection)
            .await?;
        for (table, column) in TABLES {
            self.statement(format!("DELETE FROM {table} WHERE tenant = ? AND {column} = ?"))
                .bind(tenant.as_str())
                .bind(account.as_str())
                .execute("forget an account", connection)
                .await?;
        }
        Ok(())
    }
}
