//! Our own view of the accounts.

use std::collections::HashMap;

use axum::{Json, extract::State};
use serde::Serialize;
use spindrift_model::AccountName;
use utoipa::ToSchema;

use super::{RestState, error::Error};
use crate::store::AccountRow;

/// An account: which cluster, who caches it, how far.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Account {
    name: String,
    /// The API server's address as the agent dials it.
    host: String,
    cluster_uid: Option<String>,
    ca_fingerprint: Option<String>,
    kubernetes_version: String,
    namespaces: Vec<String>,
    /// The agent that caches it now; none if nobody does, and then what is shown may be stale.
    cached_by: Option<String>,
    /// The hub that the agent is connected to.
    hub: Option<String>,
    /// The position in its change feed.
    seq: u64,
    objects: u64,
    last_seen: String,
    /// What the operator should know, such as a second cluster that claimed the name.
    problem: Option<String>,
}

/// All accounts, with who caches them and how far.
#[utoipa::path(get, path = "/v1/accounts", responses((status = 200, body = Vec<Account>)))]
pub(super) async fn list(State(state): State<RestState>) -> Result<Json<Vec<Account>>, Error> {
    let rows = state.store.accounts(&state.tenant).await?;
    let counts: HashMap<AccountName, u64> =
        state.store.object_counts(&state.tenant).await?.into_iter().collect();
    let accounts = rows.into_iter().map(|row| {
        let objects = counts.get(&row.description.name).copied().unwrap_or_default();
        Account::new(row, objects)
    });
    Ok(Json(accounts.collect()))
}

// === impl Account ===

impl Account {
    fn new(row: AccountRow, objects: u64) -> Self {
        let AccountRow { description, last_seen, problem, cursor, holder, .. } = row;
        let holder = holder.filter(|holder| holder.lease_left.is_some());
        Self {
            name: description.name.to_string(),
            host: description.cluster.host,
            cluster_uid: description.cluster.uid,
            ca_fingerprint: description.cluster.ca_fingerprint,
            kubernetes_version: description.kubernetes_version,
            namespaces: description.namespaces,
            cached_by: holder.as_ref().map(|holder| holder.agent.to_string()),
            hub: holder.map(|holder| holder.hub.to_string()),
            seq: cursor.seq.0,
            objects,
            last_seen: last_seen.to_string(),
            problem: problem.map(|problem| problem.text),
        }
    }
}
