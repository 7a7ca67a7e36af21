//! The endpoints of the Scale Agent's plugin that operators use to see who is connected.

pub(super) mod operations;

use std::collections::HashMap;

use axum::{Json, extract::State};
use serde::Serialize;
use spindrift_model::AccountName;
use utoipa::ToSchema;

use super::{
    ALIVE, RestState,
    error::{Error, Path},
};
use crate::store::{AccountRow, SessionRow, UnavailableRow};

/// A connected agent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ArmoryAgentResponse {
    agent_id: String,
    /// Always `kubernetes`.
    r#type: &'static str,
    accounts: Vec<String>,
    /// Accounts that it is configured for and cannot serve now.
    unavailable_accounts: Vec<UnavailableAccountResponse>,
    /// Set if it caches any of its accounts.
    caching: bool,
    clouddriver_id: String,
    /// ISO-8601.
    last_connection: String,
}

/// An account that an agent cannot serve.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UnavailableAccountResponse {
    name: String,
    error_message: String,
}

/// A running hub.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClouddriverInstance {
    id: String,
    base_url: String,
    ready: bool,
    last_updated: String,
}

/// An account as the Scale Agent's plugin shows it.
#[derive(Debug, Serialize, ToSchema, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct KubesvcAccount {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dynamic: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connections: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cert_fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kube_host: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kube_version: Option<String>,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_updated: Option<i64>,
    /// Milliseconds, despite its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_watch_age_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
}

/// The agents that are connected.
#[utoipa::path(get, path = "/armory/agents", responses((status = 200, body = Vec<ArmoryAgentResponse>)))]
pub(super) async fn agents(State(state): State<RestState>) -> Result<Json<Vec<ArmoryAgentResponse>>, Error> {
    let sessions = state.store.live_sessions(&state.tenant, ALIVE).await?;
    let accounts = state.store.accounts(&state.tenant).await?;
    let unavailable = state.store.unavailable_accounts(&state.tenant, ALIVE).await?;
    let mut served: HashMap<&str, Vec<&AccountRow>> = HashMap::new();
    for account in &accounts {
        let holder = account.holder.as_ref().map(|holder| holder.agent.as_str());
        let announcer = Some(account.announced_by.as_str()).filter(|announcer| holder != Some(announcer));
        for agent in holder.into_iter().chain(announcer) {
            served.entry(agent).or_default().push(account);
        }
    }
    let agents = sessions.into_iter().map(|session| {
        let accounts = served.get(session.agent.as_str()).map(Vec::as_slice).unwrap_or_default();
        let own = unavailable.iter().filter(|account| account.agent == session.agent);
        ArmoryAgentResponse::new(&session, accounts, own)
    });
    Ok(Json(agents.collect()))
}

/// One connected agent.
#[utoipa::path(
    get,
    path = "/armory/agents/{agentId}",
    responses((status = 200, body = ArmoryAgentResponse), (status = 404, body = super::error::ErrorBody))
)]
pub(super) async fn agent(
    state: State<RestState>,
    Path(agent): Path<String>,
) -> Result<Json<ArmoryAgentResponse>, Error> {
    let Json(agents) = agents(state).await?;
    let found = agents.into_iter().find(|candidate| candidate.agent_id == agent);
    found.map(Json).ok_or_else(|| Error::not_found(format!("agent {agent} is not connected")))
}

/// The hubs that share the store.
#[utoipa::path(get, path = "/armory/clouddrivers", responses((status = 200, body = Vec<ClouddriverInstance>)))]
pub(super) async fn hubs(State(state): State<RestState>) -> Result<Json<Vec<ClouddriverInstance>>, Error> {
    let hubs = state.store.hubs(ALIVE).await?.into_iter().map(|hub| ClouddriverInstance {
        id: hub.id.to_string(),
        base_url: hub.base_url,
        ready: true,
        last_updated: hub.last_seen.to_string(),
    });
    Ok(Json(hubs.collect()))
}

/// One account; an empty object if there is none, as the original answers.
#[utoipa::path(
    get,
    path = "/agents/kubernetes/accounts/{accountName}",
    responses((status = 200, body = KubesvcAccount), (status = 400, body = super::error::ErrorBody))
)]
pub(super) async fn account(
    State(state): State<RestState>,
    Path(name): Path<String>,
) -> Result<Json<KubesvcAccount>, Error> {
    let name = AccountName::parse(&name).map_err(|invalid| Error::bad_request("accountName", invalid))?;
    let row = state.store.account(&state.tenant, &name).await?;
    let mut account = row.map(KubesvcAccount::from).unwrap_or_default();
    let unavailable = state.store.unavailable_accounts(&state.tenant, ALIVE).await?;
    if let Some(failed) = unavailable.into_iter().find(|failed| failed.account == name)
        && account.status != Some("ACTIVE")
    {
        account.name = Some(name.to_string());
        account.status = Some("FAILED");
        account.error_message = Some(failed.reason);
    }
    Ok(Json(account))
}

// === impl ArmoryAgentResponse ===

impl ArmoryAgentResponse {
    fn new<'a>(
        session: &SessionRow,
        accounts: &[&AccountRow],
        unavailable: impl Iterator<Item = &'a UnavailableRow>,
    ) -> Self {
        let unavailable = unavailable.map(|account| UnavailableAccountResponse {
            name: account.account.to_string(),
            error_message: account.reason.clone(),
        });
        let held_by_it = |account: &&AccountRow| {
            let holder = account.holder.as_ref().filter(|holder| holder.lease_left.is_some());
            holder.is_some_and(|holder| holder.agent == session.agent)
        };
        Self {
            unavailable_accounts: unavailable.collect(),
            caching: accounts.iter().any(held_by_it),
            accounts: accounts.iter().map(|account| account.description.name.to_string()).collect(),
            agent_id: session.agent.to_string(),
            r#type: "kubernetes",
            clouddriver_id: session.hub.to_string(),
            last_connection: session.created_at.to_string(),
        }
    }
}

// === impl KubesvcAccount ===

impl From<AccountRow> for KubesvcAccount {
    fn from(row: AccountRow) -> Self {
        let AccountRow { description, last_seen, problem, holder, .. } = row;
        let cached = holder.is_some_and(|holder| holder.lease_left.is_some());
        Self {
            name: Some(description.name.to_string()),
            status: Some(if cached { "ACTIVE" } else { "ORPHANED" }),
            dynamic: Some(false),
            connections: Some(u32::from(cached)),
            cert_fingerprint: description.cluster.ca_fingerprint,
            kube_host: Some(description.cluster.host),
            kube_version: Some(description.kubernetes_version),
            last_updated: Some(last_seen.as_millisecond()),
            max_watch_age_seconds: u64::try_from(description.max_resumable_age.as_millis()).ok(),
            properties: serde_json::from_str(&description.properties).ok(),
            error_message: problem.map(|problem| problem.text),
        }
    }
}
