//! Which accounts a session may attach: those that its agent was accepted for, until it withdraws them.

use std::collections::HashSet;

use spindrift_model::{AccountName, SessionId, TenantId};
use sqlx::AnyConnection;

use super::dialect::OnConflict;
use super::{Store, StoreError, row::Columns};

const ACCEPTED: OnConflict = OnConflict {
    table: "spindrift_session_account",
    key: &["tenant", "session", "account"],
    replaced: &[],
    only_if: None,
};

/// Number of rows that one statement inserts; each takes three parameters.
const INSERTED_AT_ONCE: usize = 256;

// === impl Store ===

impl Store {
    /// Lets a session attach further accounts.
    pub async fn accept(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        accounts: &[AccountName],
    ) -> Result<(), StoreError> {
        let mut connection = self.writer("connect to accept accounts").await?;
        self.insert_accepted(tenant, session, accounts, &mut connection).await
    }

    /// The accounts that a session may attach.
    pub async fn accepted_accounts(
        &self,
        tenant: &TenantId,
        session: &SessionId,
    ) -> Result<HashSet<AccountName>, StoreError> {
        let mut connection = self.reader("connect to read acceptances").await?;
        let text = "SELECT account FROM spindrift_session_account WHERE tenant = ? AND session = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(session.as_str());
        let rows = statement.fetch_all("read acceptances", &mut connection).await?;
        rows.iter().map(|row| row.name("account")).collect()
    }

    /// The session serves the account no longer: it cannot attach it, and if it holds it, it has lost it.
    pub async fn withdraw(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        account: &AccountName,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin("begin a withdrawal").await?;
        let text = "DELETE FROM spindrift_session_account WHERE tenant = ? AND session = ? AND account = ?";
        self.statement(text)
            .bind(tenant.as_str())
            .bind(session.as_str())
            .bind(account.as_str())
            .execute("withdraw an account", &mut transaction)
            .await?;
        // After that: an attach that came before it has the cursor's lock, and is seen here; a later one is refused.
        self.statement(
            "UPDATE spindrift_cursor SET epoch = epoch + 1, lease_until = 0 \
             WHERE tenant = ? AND account = ? AND holder_session = ? AND lease_until > 0",
        )
        .bind(tenant.as_str())
        .bind(account.as_str())
        .bind(session.as_str())
        .execute("end a withdrawn attachment", &mut transaction)
        .await?;
        self.commit_transaction(transaction, "commit a withdrawal").await
    }

    pub(super) async fn insert_accepted(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        accounts: &[AccountName],
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        for chunk in accounts.chunks(INSERTED_AT_ONCE) {
            let values = vec!["(?, ?, ?)"; chunk.len()].join(", ");
            let text =
                format!("INSERT INTO spindrift_session_account (tenant, session, account) VALUES {values}");
            let mut statement = self.statement(text).push(&self.dialect.on_conflict(&ACCEPTED));
            for account in chunk {
                statement = statement.bind(tenant.as_str()).bind(session.as_str()).bind(account.as_str());
            }
            statement.unprepared().execute("accept accounts", connection).await?;
        }
        Ok(())
    }

    pub(super) async fn is_accepted(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        account: &AccountName,
        connection: &mut AnyConnection,
    ) -> Result<bool, StoreError> {
        let text = "SELECT COUNT(*) AS accepted FROM spindrift_session_account \
                    WHERE tenant = ? AND session = ? AND account = ?";
        let statement =
            self.statement(text).bind(tenant.as_str()).bind(session.as_str()).bind(account.as_str());
        let row = statement.fetch_optional("read an acceptance", connection).await?;
        row.map_or(Ok(false), |row| Ok(row.count("accepted")? > 0))
    }

    pub(super) async fn purge_accepted(&self, connection: &mut AnyConnection) -> Result<(), StoreError> {
        let text = "DELETE FROM spindrift_session_account WHERE NOT EXISTS (SELECT 1 FROM spindrift_session \
                    WHERE spindrift_session.id = spindrift_session_account.session)";
        self.statement(text).execute("purge acceptances", connection).await.map(drop)
    }
}
