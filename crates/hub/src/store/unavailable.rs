//! Accounts that a connected agent is configured for and cannot serve now.

use std::{collections::HashMap, time::Duration};

use jiff::Timestamp;
use spindrift_model::{AccountName, AgentId, SessionId, TenantId, UnavailableAccount};
use sqlx::AnyConnection;

use super::{Store, StoreError, row::Columns};

/// An account that an agent cannot serve now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableRow {
    pub account: AccountName,
    pub agent: AgentId,
    pub reason: String,
    /// Time at which its agent reported it first, in its session.
    pub since: Timestamp,
}

/// Number of rows that one statement inserts; each takes five parameters.
const INSERTED_AT_ONCE: usize = 128;

/// Width of the column.
const LONGEST_REASON: usize = 2048;

// === impl Store ===

impl Store {
    /// Replaces the accounts that the agent of a session cannot serve.
    pub async fn replace_unavailable(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        accounts: &[UnavailableAccount],
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin("begin to record unavailable accounts").await?;
        let text = "SELECT account, {now} - since AS age FROM spindrift_unavailable_account WHERE tenant = ? AND session = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(session.as_str());
        let rows = statement.fetch_all("read unavailable accounts", &mut transaction).await?;
        let known: HashMap<AccountName, Duration> = rows
            .iter()
            .map(|row| Ok((row.name("account")?, row.duration("age")?)))
            .collect::<Result<_, StoreError>>()?;
        self.statement("DELETE FROM spindrift_unavailable_account WHERE tenant = ? AND session = ?")
            .bind(tenant.as_str())
            .bind(session.as_str())
            .execute("delete unavailable accounts", &mut transaction)
            .await?;
        for chunk in accounts.chunks(INSERTED_AT_ONCE) {
            let values = vec!["(?, ?, ?, ?, {now} - ?)"; chunk.len()].join(", ");
            let text = format!(
                "INSERT INTO spindrift_unavailable_account (tenant, session, account, reason, since) VALUES {values}"
            );
            let mut statement = self.statement(text);
            for UnavailableAccount { name, reason } in chunk {
                let age = known.get(name).copied().unwrap_or_default();
                let reason: String = reason.chars().take(LONGEST_REASON).collect();
                let bound = statement.bind(tenant.as_str()).bind(session.as_str()).bind(name.as_str());
                statement = bound.bind(&*reason).bind(age);
            }
            statement.unprepared().execute("record unavailable accounts", &mut transaction).await?;
        }
        transaction.commit().await.map_err(StoreError::at("commit unavailable accounts"))
    }

    /// Returns the accounts that agents cannot serve which were alive within this time, by name.
    pub async fn unavailable_accounts(
        &self,
        tenant: &TenantId,
        within: Duration,
    ) -> Result<Vec<UnavailableRow>, StoreError> {
        let mut connection = self.reader("connect to read unavailable accounts").await?;
        let rows = self
            .statement(
                "SELECT u.account AS account, s.agent_id AS agent, u.reason AS reason, u.since AS since \
                 FROM spindrift_unavailable_account u JOIN spindrift_session s ON s.id = u.session \
                 WHERE u.tenant = ? AND s.closed_at = 0 AND s.last_seen >= {now} - ? ORDER BY u.account, s.agent_id",
            )
            .bind(tenant.as_str())
            .bind(within)
            .fetch_all("read unavailable accounts", &mut connection)
            .await?;
        rows.iter()
            .map(|row| {
                Ok(UnavailableRow {
                    account: row.name("account")?,
                    agent: row.name("agent")?,
                    reason: row.text("reason")?.to_owned(),
                    since: row.timestamp("since")?,
                })
            })
            .collect()
    }

    pub(super) async fn purge_unavailable(&self, connection: &mut AnyConnection) -> Result<(), StoreError> {
        let text = "DELETE FROM spindrift_unavailable_account WHERE NOT EXISTS (SELECT 1 FROM spindrift_session \
                    WHERE spindrift_session.id = spindrift_unavailable_account.session)";
        self.statement(text).execute("purge unavailable accounts", connection).await.map(drop)
    }
}
