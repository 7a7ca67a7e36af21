//! Cursors: each attachment of an account has its own epoch, and a lease on the database's clock.

use std::collections::HashMap;
use std::time::Duration;

use spindrift_model::{AccountName, AgentId, Attachment, Cursor, Epoch, HubId, Seq, SessionId, TenantId};
use sqlx::AnyConnection;

use super::dialect::OnConflict;
use super::{Store, StoreError, row::Columns, scope, scope::StoredScope};

/// An agent that offers to cache an account.
#[derive(Debug, Clone)]
pub struct AttachRequest {
    pub tenant: TenantId,
    pub account: AccountName,
    pub agent: AgentId,
    pub session: SessionId,
    /// The hub that the agent's stream ends in.
    pub hub: HubId,
    /// Duration of the lease without a commit or a renewal.
    pub lease: Duration,
}

/// Outcome of a request to attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttachOutcome {
    /// The account is the agent's; every earlier attachment is refused from here on.
    Attached {
        attachment: Attachment,
        /// Agent that it was taken over from, if another one.
        previous: Option<PreviousAgent>,
    },
    /// Another agent holds it.
    Busy { agent: AgentId, lease_left: Duration },
    /// A newer session of the same agent has taken this one's place.
    SessionClosed,
    /// The agent was not accepted for this account, or has withdrawn it.
    NotAccepted,
}

/// The agent that cached an account before another one took it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviousAgent {
    pub agent: AgentId,
    /// Scopes that it had declared.
    pub scopes: Vec<StoredScope>,
}

const NEW_CURSOR: OnConflict =
    OnConflict { table: "spindrift_cursor", key: &["tenant", "account"], replaced: &[], only_if: None };

/// Number of accounts that one statement renews; each takes two parameters.
const RENEWED_AT_ONCE: usize = 64;

// === impl Store ===

impl Store {
    /// Gives the account to the agent, unless another one's lease is alive.
    pub async fn attach(&self, request: &AttachRequest) -> Result<AttachOutcome, StoreError> {
        let AttachRequest { tenant, account, agent, session, hub, lease } = request;
        // Standbys ask every other second: a read is enough to answer them.
        let mut connection = self.reader("connect to read the account's holder").await?;
        let holder = self.holder(tenant, account, &mut connection).await?;
        drop(connection);
        if let Some((holder, lease_left)) = holder.filter(|(holder, left)| holder != agent && !left.is_zero())
        {
            return Ok(AttachOutcome::Busy { agent: holder, lease_left });
        }
        let mut transaction = self.begin("begin to attach").await?;
        self.statement(
            "INSERT INTO spindrift_cursor (tenant, account, epoch, seq, feed_floor, holder_agent, holder_session, \
             holder_hub, lease_until) VALUES (?, ?, 0, 0, 0, '', '', '', 0)",
        )
        .push(&self.dialect.on_conflict(&NEW_CURSOR))
        .bind(tenant.as_str())
        .bind(account.as_str())
        .execute("insert a cursor", &mut transaction)
        .await?;
        let taken = self
            .statement(
                "UPDATE spindrift_cursor SET epoch = epoch + 1, holder_session = ?, holder_hub = ?, \
                 lease_until = {now} + ? \
                 WHERE tenant = ? AND account = ? AND (lease_until <= {now} OR holder_agent = ?)",
            )
            .bind(session.as_str())
            .bind(hub.as_str())
            .bind(*lease)
            .bind(tenant.as_str())
            .bind(account.as_str())
            .bind(agent.as_str())
            .execute("take an account", &mut transaction)
            .await?;

        let holder = self.holder(tenant, account, &mut transaction).await?;
        let outcome = if taken == 0 {
            let (agent, lease_left) = holder
                .ok_or_else(|| StoreError::at("read the account's holder")(sqlx::Error::RowNotFound))?;
            AttachOutcome::Busy { agent, lease_left }
        } else if let Some(refused) = self.refusal(request, &mut transaction).await? {
            refused
        } else {
            // Read under the cursor's row lock: no commit comes between the cursor and its resume points.
            let cursor = self.read_cursor(tenant, account, &mut transaction).await?;
            let scopes = scope::stored(self, tenant, account, &mut transaction).await?;
            let resume_points = scopes.iter().cloned().filter_map(StoredScope::resume_point).collect();
            self.name_holder(request, &mut transaction).await?;
            let previous = holder.map(|(holder, _)| holder).filter(|holder| holder != agent);
            let previous = previous.map(|agent| PreviousAgent { agent, scopes });
            AttachOutcome::Attached { attachment: Attachment { cursor, resume_points }, previous }
        };
        if let AttachOutcome::Attached { .. } = outcome {
            self.commit_transaction(transaction, "commit an attachment").await?;
        } else {
            transaction.rollback().await.map_err(StoreError::at("roll back an attachment"))?;
        }
        Ok(outcome)
    }

    /// The agent that cached the account last, and how much longer it is its own.
    async fn holder(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        connection: &mut AnyConnection,
    ) -> Result<Option<(AgentId, Duration)>, StoreError> {
        let text = "SELECT holder_agent, lease_until - {now} AS lease_left FROM spindrift_cursor \
                    WHERE tenant = ? AND account = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(account.as_str());
        let row = statement.fetch_optional("read the account's holder", connection).await?;
        let Some(row) = row else { return Ok(None) };
        let Some(agent) = row.optional_name("holder_agent")? else { return Ok(None) };
        Ok(Some((agent, row.duration("lease_left")?)))
    }

    /// Stores the new holder; the last step of an attach, since the previous holder is read before.
    async fn name_holder(
        &self,
        request: &AttachRequest,
        connection: &mut AnyConnection,
    ) -> Result<(), StoreError> {
        let AttachRequest { tenant, account, agent, .. } = request;
        let text = "UPDATE spindrift_cursor SET holder_agent = ? WHERE tenant = ? AND account = ?";
        let statement =
            self.statement(text).bind(agent.as_str()).bind(tenant.as_str()).bind(account.as_str());
        statement.execute("name the account's holder", connection).await.map(drop)
    }

    /// Why this session may not attach this account.
    async fn refusal(
        &self,
        request: &AttachRequest,
        connection: &mut AnyConnection,
    ) -> Result<Option<AttachOutcome>, StoreError> {
        let AttachRequest { tenant, account, session, .. } = request;
        let text = "SELECT closed_at FROM spindrift_session WHERE tenant = ? AND id = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(session.as_str());
        let row = statement.fetch_optional("read the attaching session", connection).await?;
        // A session without a row was purged long after its last sign of life.
        let Some(row) = row else { return Ok(Some(AttachOutcome::SessionClosed)) };
        if row.number("closed_at")? != 0 {
            return Ok(Some(AttachOutcome::SessionClosed));
        }
        let accepted = self.is_accepted(tenant, session, account, connection).await?;
        Ok((!accepted).then_some(AttachOutcome::NotAccepted))
    }

    async fn read_cursor(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        connection: &mut AnyConnection,
    ) -> Result<Cursor, StoreError> {
        let text = "SELECT epoch, seq FROM spindrift_cursor WHERE tenant = ? AND account = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(account.as_str());
        let row = statement.fetch_optional("read a cursor", connection).await?;
        let row = row.ok_or_else(|| StoreError::at("read a cursor")(sqlx::Error::RowNotFound))?;
        Ok(Cursor { epoch: Epoch(row.count("epoch")?), seq: Seq(row.count("seq")?) })
    }

    /// Ends the lease, so that another agent can attach at once; false if the account is another epoch's by now.
    pub async fn release(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        epoch: Epoch,
    ) -> Result<bool, StoreError> {
        let mut connection = self.writer("connect to release an account").await?;
        let text =
            "UPDATE spindrift_cursor SET lease_until = 0 WHERE tenant = ? AND account = ? AND epoch = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(account.as_str()).bind(epoch.0);
        Ok(statement.execute("release an account", &mut connection).await? > 0)
    }

    /// Gives an account that was taken too soon back to the agent that had it; its lease has ended, and others may attach.
    pub async fn give_back(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        epoch: Epoch,
        previous: &AgentId,
    ) -> Result<(), StoreError> {
        let mut connection = self.writer("connect to give an account back").await?;
        let text = "UPDATE spindrift_cursor SET lease_until = 0, holder_agent = ? \
                    WHERE tenant = ? AND account = ? AND epoch = ?";
        let statement = self.statement(text).bind(previous.as_str()).bind(tenant.as_str());
        let statement = statement.bind(account.as_str()).bind(epoch.0);
        statement.execute("give an account back", &mut connection).await.map(drop)
    }

    /// Extends the leases of accounts that had nothing to commit; answers with those of the epochs that are over.
    pub async fn renew(
        &self,
        tenant: &TenantId,
        held: &[(AccountName, Epoch)],
        lease: Duration,
    ) -> Result<Vec<(AccountName, Epoch)>, StoreError> {
        let mut connection = self.writer("connect to renew leases").await?;
        let mut lost = Vec::new();
        for chunk in held.chunks(RENEWED_AT_ONCE) {
            let ours = vec!["(account = ? AND epoch = ?)"; chunk.len()].join(" OR ");
            let mut statement = self
                .statement(format!(
                    "UPDATE spindrift_cursor SET lease_until = {{now}} + ? WHERE tenant = ? AND ({ours})"
                ))
                .bind(lease)
                .bind(tenant.as_str());
            for (account, epoch) in chunk {
                statement = statement.bind(account.as_str()).bind(epoch.0);
            }
            let renewed = statement.unprepared().execute("renew leases", &mut connection).await?;
            if usize::try_from(renewed).is_ok_and(|renewed| renewed < chunk.len()) {
                lost.extend(self.lost(tenant, chunk, &mut connection).await?);
            }
        }
        Ok(lost)
    }

    async fn lost(
        &self,
        tenant: &TenantId,
        held: &[(AccountName, Epoch)],
        connection: &mut AnyConnection,
    ) -> Result<Vec<(AccountName, Epoch)>, StoreError> {
        let accounts = vec!["?"; held.len()].join(", ");
        let mut statement = self
            .statement(format!(
                "SELECT account, epoch FROM spindrift_cursor WHERE tenant = ? AND account IN ({accounts})"
            ))
            .bind(tenant.as_str());
        for (account, _) in held {
            statement = statement.bind(account.as_str());
        }
        let mut epochs: HashMap<AccountName, Epoch> = HashMap::new();
        for row in statement.unprepared().fetch_all("read epochs", connection).await? {
            epochs.insert(row.name("account")?, Epoch(row.count("epoch")?));
        }
        Ok(held.iter().filter(|(account, epoch)| epochs.get(account) != Some(epoch)).cloned().collect())
    }
}
