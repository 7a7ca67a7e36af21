//! Routes: the agents that can run operations in an account.

use std::time::Duration;

use spindrift_model::{AccountName, AgentId, HubId, Incarnation, SessionId, TenantId};

use super::Freeze;
use crate::store::{Store, StoreError, row::Columns};

/// All that decides where an operation goes, or that it goes nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Announced properties of the account, a JSON object.
    pub properties: String,
    pub frozen: Option<Freeze>,
    /// The agent that caches the account, or cached it last.
    pub holder: Option<AgentId>,
    /// The sessions of agents that serve the account, the oldest first.
    pub candidates: Vec<Candidate>,
}

/// A session that can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub session: SessionId,
    pub agent: AgentId,
    pub incarnation: Incarnation,
    /// The hub that its Control channel ends in.
    pub hub: HubId,
    /// Verbs that it supports.
    pub verbs: Vec<String>,
}

// === impl Store ===

impl Store {
    /// Returns an account and its agents that were alive within this time; none if there is no such account.
    pub async fn route(
        &self,
        tenant: &TenantId,
        account: &AccountName,
        alive: Duration,
    ) -> Result<Option<Route>, StoreError> {
        let mut connection = self.reader("connect to find an agent").await?;
        let text = "SELECT a.properties, COALESCE(c.holder_agent, '') AS holder_agent, \
                    COALESCE(f.reason, '') AS reason, COALESCE(f.frozen_at, 0) AS frozen_at \
                    FROM spindrift_account a \
                    LEFT JOIN spindrift_cursor c ON c.tenant = a.tenant AND c.account = a.name \
                    LEFT JOIN spindrift_freeze f ON f.tenant = a.tenant AND f.account = a.name \
                    WHERE a.tenant = ? AND a.name = ?";
        let statement = self.statement(text).bind(tenant.as_str()).bind(account.as_str());
        let Some(row) = statement.fetch_optional("read where an account is served", &mut connection).await?
        else {
            return Ok(None);
        };
        let frozen = match row.number("frozen_at")? {
            0 => None,
            _ => Some(Freeze { reason: row.text("reason")?.to_owned(), at: row.timestamp("frozen_at")? }),
        };
        let text = "SELECT s.id, s.agent_id, s.incarnation, s.control_hub, s.verbs FROM spindrift_session s \
                    JOIN spindrift_session_account a ON a.tenant = s.tenant AND a.session = s.id \
                    WHERE a.tenant = ? AND a.account = ? AND s.closed_at = 0 AND s.control_hub <> '' \
                    AND s.last_seen >= {now} - ? ORDER BY s.created_at, s.id";
        let statement = self.statement(text).bind(tenant.as_str()).bind(account.as_str()).bind(alive);
        let rows = statement.fetch_all("read who serves an account", &mut connection).await?;
        let candidates = rows.iter().map(|row| {
            Ok(Candidate {
                session: row.name("id")?,
                agent: row.name("agent_id")?,
                incarnation: row.name("incarnation")?,
                hub: row.name("control_hub")?,
                verbs: row.text("verbs")?.split(',').map(str::to_owned).collect(),
            })
        });
        Ok(Some(Route {
            properties: row.text("properties")?.to_owned(),
            frozen,
            holder: row.optional_name("holder_agent")?,
            candidates: candidates.collect::<Result<_, StoreError>>()?,
        }))
    }
}
