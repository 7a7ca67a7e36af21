//! Sessions of agents: any hub replica may be asked to open any channel of them.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use jiff::Timestamp;
use spindrift_model::{AccountName, AgentId, HubId, Incarnation, SessionId, TenantId};
use sqlx::any::AnyRow;

use super::{Store, StoreError, TokenHash, row::Columns};

/// A session that an agent has just registered.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub tenant: TenantId,
    pub id: SessionId,
    pub agent: AgentId,
    pub incarnation: Incarnation,
    /// The hub that it registered at.
    pub hub: HubId,
    /// The agent's own version.
    pub version: String,
    pub zone: String,
    /// Verbs that the agent supports.
    pub verbs: Vec<String>,
    /// Of the control, the events and the results channel.
    pub token_hashes: [TokenHash; 3],
    /// Lifetime of the tokens.
    pub token_ttl: Duration,
    /// The accounts that it may attach.
    pub accounts: Vec<AccountName>,
}

/// A session that is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: SessionId,
    pub agent: AgentId,
    pub incarnation: Incarnation,
    pub hub: HubId,
    pub version: String,
    pub zone: String,
    pub created_at: Timestamp,
    pub last_seen: Timestamp,
}

/// Time for which registrations show that two processes have one name; they register every few seconds.
const CONTESTED_FOR: Duration = Duration::from_mins(5);

// === impl Store ===

impl Store {
    /// Opens the session and closes all others of the same agent: the new one always wins.
    pub async fn open_session(&self, session: &NewSession) -> Result<(), StoreError> {
        let NewSession {
            tenant,
            id,
            agent,
            incarnation,
            hub,
            version,
            zone,
            verbs,
            token_hashes,
            token_ttl,
            accounts,
        } = session;
        let mut transaction = self.begin("begin a session").await?;
        self.statement(
            "UPDATE spindrift_session SET closed_at = {now} WHERE tenant = ? AND agent_id = ? AND closed_at = 0",
        )
        .bind(tenant.as_str())
        .bind(agent.as_str())
        .execute("close older sessions", &mut transaction)
        .await?;
        let [control, events, results] = token_hashes;
        self.statement(
            "INSERT INTO spindrift_session (tenant, id, agent_id, incarnation, hub_id, agent_version, zone, \
             control_hash, events_hash, results_hash, control_used, events_used, results_used, tokens_expire_at, \
             created_at, last_seen, closed_at, verbs) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, {now} + ?, {now}, {now}, 0, ?)",
        )
        .bind(tenant.as_str())
        .bind(id.as_str())
        .bind(agent.as_str())
        .bind(&*incarnation.to_string())
        .bind(hub.as_str())
        .bind(&**version)
        .bind(&**zone)
        .bind(control.as_str())
        .bind(events.as_str())
        .bind(results.as_str())
        .bind(*token_ttl)
        .bind(&*verbs.join(","))
        .execute("insert a session", &mut transaction)
        .await?;
        self.insert_accepted(tenant, id, accounts, &mut transaction).await?;
        self.commit_transaction(transaction, "commit a session").await
    }

    /// Records that the session is alive; false if it has been closed since.
    pub async fn touch_session(&self, id: &SessionId) -> Result<bool, StoreError> {
        let text = "UPDATE spindrift_session SET last_seen = {now} WHERE id = ? AND closed_at = 0";
        self.update_session(text, id, "touch a session").await
    }

    /// Whether the session is open and was touched of late.
    pub async fn session_is_live(&self, id: &SessionId, within: Duration) -> Result<bool, StoreError> {
        let mut connection = self.reader("connect to read a session").await?;
        let text =
            "SELECT id FROM spindrift_session WHERE id = ? AND closed_at = 0 AND last_seen >= {now} - ?";
        let statement = self.statement(text).bind(id.as_str()).bind(within);
        Ok(statement.fetch_optional("read a session", &mut connection).await?.is_some())
    }

    /// Ends the session; false if it had ended already.
    pub async fn close_session(&self, id: &SessionId) -> Result<bool, StoreError> {
        let text = "UPDATE spindrift_session SET closed_at = {now} WHERE id = ? AND closed_at = 0";
        self.update_session(text, id, "close a session").await
    }

    async fn update_session(
        &self,
        text: &str,
        id: &SessionId,
        step: &'static str,
    ) -> Result<bool, StoreError> {
        let mut connection = self.writer(step).await?;
        let statement = self.statement(text).bind(id.as_str());
        Ok(statement.execute(step, &mut connection).await? > 0)
    }

    /// The open sessions that were touched of late, by age.
    pub async fn live_sessions(
        &self,
        tenant: &TenantId,
        within: Duration,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let mut connection = self.reader("connect to read sessions").await?;
        let rows = self
            .statement(
                "SELECT id, agent_id, incarnation, hub_id, agent_version, zone, created_at, last_seen \
                 FROM spindrift_session WHERE tenant = ? AND closed_at = 0 AND last_seen >= {now} - ? \
                 ORDER BY created_at, id",
            )
            .bind(tenant.as_str())
            .bind(within)
            .fetch_all("read sessions", &mut connection)
            .await?;
        rows.iter().map(SessionRow::read).collect()
    }

    /// Agents whose name two processes use: one that was replaced by the other has registered again.
    pub async fn contested_agents(&self, tenant: &TenantId) -> Result<HashSet<AgentId>, StoreError> {
        let mut connection = self.reader("connect to read registrations").await?;
        let rows = self
            .statement(
                "SELECT agent_id, incarnation FROM spindrift_session \
                 WHERE tenant = ? AND created_at >= {now} - ? ORDER BY created_at, id",
            )
            .bind(tenant.as_str())
            .bind(CONTESTED_FOR)
            .fetch_all("read registrations", &mut connection)
            .await?;
        let mut processes: HashMap<AgentId, Vec<Incarnation>> = HashMap::new();
        let mut contested = HashSet::new();
        for row in &rows {
            let (agent, incarnation): (AgentId, Incarnation) =
                (row.name("agent_id")?, row.name("incarnation")?);
            let seen = processes.entry(agent.clone()).or_default();
            if seen.last() == Some(&incarnation) {
                continue;
            }
            if seen.contains(&incarnation) {
                contested.insert(agent);
            }
            seen.push(incarnation);
        }
        Ok(contested)
    }

    /// Deletes sessions that were last alive longer ago than this.
    pub async fn purge_sessions(&self, older_than: Duration) -> Result<u64, StoreError> {
        let mut connection = self.writer("connect to purge sessions").await?;
        let statement =
            self.statement("DELETE FROM spindrift_session WHERE last_seen < {now} - ?").bind(older_than);
        let purged = statement.execute("purge sessions", &mut connection).await?;
        if purged > 0 {
            self.purge_accepted(&mut connection).await?;
            self.purge_unavailable(&mut connection).await?;
        }
        Ok(purged)
    }
}

// === impl SessionRow ===

impl SessionRow {
    fn read(row: &AnyRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.name("id")?,
            agent: row.name("agent_id")?,
            incarnation: row.name("incarnation")?,
            hub: row.name("hub_id")?,
            version: row.text("agent_version")?.to_owned(),
            zone: row.text("zone")?.to_owned(),
            created_at: row.timestamp("created_at")?,
            last_seen: row.timestamp("last_seen")?,
        })
    }
}
