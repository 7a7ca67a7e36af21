//! Watches of each account, and the resource versions they have reached.

use std::collections::HashSet;

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use spindrift_model::AccountName;
use utoipa::{IntoParams, ToSchema};

use super::{
    RestState,
    error::{Error, Query},
    selection,
};
use crate::store::{CountedScope, StoredScope};

/// Which accounts.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WatchesQuery {
    /// Accounts, joined by commas; all if absent.
    account: Option<String>,
}

/// A kind of an account that is watched as one, in a namespace or in all.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Watch {
    account: String,
    group: String,
    version: String,
    kind: String,
    /// None for all namespaces, and for kinds without.
    namespace: Option<String>,
    phase: Phase,
    /// The version that the store has reached.
    resource_version: Option<String>,
    /// Seconds since it was reached; a quiet kind is confirmed every few minutes.
    age: Option<u64>,
    objects: u64,
    /// Why the agent may not read it, if so.
    denied: Option<String>,
}

/// Phase of a watch.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Phase {
    /// Its objects are listed, and changes are followed.
    Live,
    /// It is being listed, or waits for it.
    Listing,
    /// Its agent is not allowed to read it; its stored objects are those from before the denial.
    Denied,
    /// No agent caches its account now.
    Stale,
}

/// Lists the watches by account, kind and namespace.
#[utoipa::path(
    get,
    path = "/v1/watches",
    params(WatchesQuery),
    responses((status = 200, body = Vec<Watch>), (status = 400, body = super::error::ErrorBody))
)]
pub(super) async fn list(
    State(state): State<RestState>,
    Query(WatchesQuery { account }): Query<WatchesQuery>,
) -> Result<Json<Vec<Watch>>, Error> {
    let accounts = selection::accounts(account.as_deref())?;
    let scopes = state.store.counted_scopes(&state.tenant, accounts.as_deref()).await?;
    let rows = state.store.accounts(&state.tenant).await?;
    let held: HashSet<AccountName> = rows
        .into_iter()
        .filter(|row| row.holder.as_ref().is_some_and(|holder| holder.lease_left.is_some()))
        .map(|row| row.description.name)
        .collect();
    Ok(Json(scopes.into_iter().map(|scope| Watch::new(scope, &held)).collect()))
}

/// The names of the namespaces that are known, of all accounts or of these.
#[utoipa::path(
    get,
    path = "/v1/namespaces",
    params(WatchesQuery),
    responses((status = 200, body = Vec<String>), (status = 400, body = super::error::ErrorBody))
)]
pub(super) async fn namespaces(
    State(state): State<RestState>,
    Query(WatchesQuery { account }): Query<WatchesQuery>,
) -> Result<Json<Vec<String>>, Error> {
    let accounts = selection::accounts(account.as_deref())?;
    let names = state.store.namespaces(&state.tenant, accounts.as_deref()).await?;
    Ok(Json(names.into_iter().collect()))
}

// === impl Watch ===

impl Watch {
    fn new(counted: CountedScope, held: &HashSet<AccountName>) -> Self {
        let CountedScope { account, scope, objects } = counted;
        let StoredScope { row, resource_version, age, denied } = scope;
        let phase = match &resource_version {
            _ if !held.contains(&account) => Phase::Stale,
            _ if denied.is_some() => Phase::Denied,
            None => Phase::Listing,
            Some(_) => Phase::Live,
        };
        Self {
            account: account.to_string(),
            group: row.scope.group.to_string(),
            version: row.api_version.to_string(),
            kind: row.scope.kind.to_string(),
            namespace: row.scope.namespace.map(|namespace| namespace.to_string()),
            phase,
            age: resource_version.as_ref().map(|_| age.as_secs()),
            resource_version: resource_version.map(|version| version.to_string()),
            objects,
            denied,
        }
    }
}
