//! Accounts, as their agents describe them and as the store serves them.

mod announce;
mod forget;

use std::{collections::HashSet, time::Duration};

use jiff::Timestamp;
use spindrift_model::{
    AccountDescription, AccountName, AgentId, ClusterIdentity, Cursor, Epoch, HubId, Seq, SessionId, TenantId,
};
use sqlx::any::AnyRow;

use super::{Store, StoreError, row::Columns};
pub use announce::AnnounceOutcome;
pub use forget::{Forgotten, UnservedAccount};

/// An account and where its stream stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRow {
    /// Last announcement.
    pub description: AccountDescription,
    /// Agent that announced it last.
    pub announced_by: AgentId,
    pub first_seen: Timestamp,
    pub last_seen: Timestamp,
    /// Problem for the operator.
    pub problem: Option<Problem>,
    /// Zero before the first attachment.
    pub cursor: Cursor,
    /// Agent that caches it, or did last.
    pub holder: Option<Holder>,
}

/// A refused claim to an account's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub text: String,
    pub agent: AgentId,
    pub at: Timestamp,
}

/// The agent that an account is attached to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub agent: AgentId,
    pub session: SessionId,
    /// The hub that the agent's stream ends in.
    pub hub: HubId,
    /// None once the lease has ended.
    pub lease_left: Option<Duration>,
}

const ACCOUNTS: &str = "SELECT a.name, a.host, a.cluster_uid, a.ca_fingerprint, a.kubernetes_version, a.namespaces, \
    a.properties, a.max_resumable_age, a.agent_id, a.first_seen, a.last_seen, a.problem, a.problem_agent, \
    a.problem_at, COALESCE(c.epoch, 0) AS epoch, COALESCE(c.seq, 0) AS seq, \
    COALESCE(c.holder_agent, '') AS holder_agent, COALESCE(c.holder_session, '') AS holder_session, \
    COALESCE(c.holder_hub, '') AS holder_hub, COALESCE(c.lease_until, 0) - {now} AS lease_left \
    FROM spindrift_account a LEFT JOIN spindrift_cursor c ON c.tenant = a.tenant AND c.account = a.name \
    WHERE a.tenant = ?";

// === impl Store ===

impl Store {
    /// All accounts of the tenant, by name.
    pub async fn accounts(&self, tenant: &TenantId) -> Result<Vec<AccountRow>, StoreError> {
        let mut connection = self.reader("connect to read accounts").await?;
        let statement = self.statement(ACCOUNTS).push(" ORDER BY a.name").bind(tenant.as_str());
        let rows = statement.fetch_all("read accounts", &mut connection).await?;
        rows.iter().map(AccountRow::read).collect()
    }

    /// Names of all accounts of the tenant.
    pub async fn account_names(&self, tenant: &TenantId) -> Result<HashSet<AccountName>, StoreError> {
        let mut connection = self.reader("connect to read the names of accounts").await?;
        let statement =
            self.statement("SELECT name FROM spindrift_account WHERE tenant = ?").bind(tenant.as_str());
        let rows = statement.fetch_all("read the names of accounts", &mut connection).await?;
        rows.iter().map(|row| row.name("name")).collect()
    }

    /// One account.
    pub async fn account(
        &self,
        tenant: &TenantId,
        name: &AccountName,
    ) -> Result<Option<AccountRow>, StoreError> {
        let mut connection = self.reader("connect to read an account").await?;
        let statement =
            self.statement(ACCOUNTS).push(" AND a.name = ?").bind(tenant.as_str()).bind(name.as_str());
        let row = statement.fetch_optional("read an account", &mut connection).await?;
        row.as_ref().map(AccountRow::read).transpose()
    }
}

// === impl AccountRow ===

impl AccountRow {
    fn read(row: &AnyRow) -> Result<Self, StoreError> {
        let namespaces = serde_json::from_str(row.text("namespaces")?)
            .map_err(|source| StoreError::Json { column: "namespaces", source })?;
        let problem = row.optional_text("problem")?.map(|text| {
            Ok::<_, StoreError>(Problem {
                text,
                agent: row.name("problem_agent")?,
                at: row.timestamp("problem_at")?,
            })
        });
        Ok(Self {
            description: AccountDescription {
                name: row.name("name")?,
                cluster: cluster(row)?,
                kubernetes_version: row.text("kubernetes_version")?.to_owned(),
                namespaces,
                properties: row.text("properties")?.to_owned(),
                max_resumable_age: row.duration("max_resumable_age")?,
            },
            announced_by: row.name("agent_id")?,
            first_seen: row.timestamp("first_seen")?,
            last_seen: row.timestamp("last_seen")?,
            problem: problem.transpose()?,
            cursor: Cursor { epoch: Epoch(row.count("epoch")?), seq: Seq(row.count("seq")?) },
            holder: Holder::read(row)?,
        })
    }
}

// === impl Holder ===

impl Holder {
    fn read(row: &AnyRow) -> Result<Option<Self>, StoreError> {
        let Some(agent) = row.optional_name("holder_agent")? else { return Ok(None) };
        Ok(Some(Self {
            agent,
            session: row.name("holder_session")?,
            hub: row.name("holder_hub")?,
            lease_left: Some(row.duration("lease_left")?).filter(|left| !left.is_zero()),
        }))
    }
}

fn cluster(row: &AnyRow) -> Result<ClusterIdentity, StoreError> {
    Ok(ClusterIdentity {
        uid: row.optional_text("cluster_uid")?,
        ca_fingerprint: row.optional_text("ca_fingerprint")?,
        host: row.text("host")?.to_owned(),
    })
}
