//! Our own view of the agents, and of the hub itself.

use std::collections::BTreeMap;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;

use super::{RestState, error::Error};
use crate::store::SessionRow;

/// A connected agent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Agent {
    name: String,
    version: String,
    zone: Option<String>,
    /// The hub that it is connected to.
    hub: String,
    connected_at: String,
    /// Its last sign of life; agents send one every few seconds.
    last_seen: String,
    /// The accounts that it caches; for others it may stand by.
    accounts: Vec<String>,
    /// Problem for the operator, such as two processes that register under one name.
    problem: Option<String>,
}

/// Which release the hub is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Release {
    version: &'static str,
}

/// Problem of an agent whose name two processes use.
const CONTESTED: &str =
    "two processes register under this name in turns; agents need different names, which HOSTNAME sets";

/// The agents that are connected, of all hubs on this store.
#[utoipa::path(get, path = "/v1/agents", responses((status = 200, body = Vec<Agent>)))]
pub(super) async fn list(State(state): State<RestState>) -> Result<Json<Vec<Agent>>, Error> {
    let sessions = state.store.live_sessions(&state.tenant, super::ALIVE).await?;
    let mut held: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for account in state.store.accounts(&state.tenant).await? {
        if let Some(holder) = account.holder.filter(|holder| holder.lease_left.is_some()) {
            held.entry(holder.session.to_string()).or_default().push(account.description.name.to_string());
        }
    }
    let contested = state.store.contested_agents(&state.tenant).await?;
    let agents = sessions.into_iter().map(|session| {
        let accounts = held.remove(session.id.as_str()).unwrap_or_default();
        let problem = contested.contains(&session.agent).then(|| CONTESTED.to_owned());
        Agent { problem, ..Agent::new(session, accounts) }
    });
    Ok(Json(agents.collect()))
}

/// Which release the hub is.
#[utoipa::path(get, path = "/v1/version", responses((status = 200, body = Release)))]
pub(super) async fn version() -> Json<Release> {
    Json(Release { version: crate::VERSION })
}

// === impl Agent ===

impl Agent {
    fn new(session: SessionRow, accounts: Vec<String>) -> Self {
        let SessionRow { id: _, agent, incarnation: _, hub, version, zone, created_at, last_seen } = session;
        Self {
            name: agent.to_string(),
            version,
            zone: Some(zone).filter(|zone| !zone.is_empty()),
            hub: hub.to_string(),
            connected_at: created_at.to_string(),
            last_seen: last_seen.to_string(),
            accounts,
            problem: None,
        }
    }
}
