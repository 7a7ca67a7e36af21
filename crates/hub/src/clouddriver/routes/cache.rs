//! Cache refreshes, which the hub does not need: agents watch.

use std::collections::HashMap;

use axum::{Json, extract::State};
use serde::Serialize;
use serde_json::{Value, json};
use spindrift_spinnaker::view::KUBERNETES;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::error::Error;
use crate::{rest::RestState, store::AccountRow};

/// Agent of an account in Clouddriver's format for caching agents.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CachingAgent {
    id: String,
    provider: &'static str,
    total_additions: u64,
    total_evictions: u64,
    details: Value,
    last_execution_start_ms: i64,
    last_execution_duration_ms: u64,
    last_execution_start_date: String,
}

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().routes(routes!(refresh, pending)).routes(routes!(introspection))
}

/// Accepts a refresh and does nothing.
#[utoipa::path(
    post,
    path = "/cache/{provider}/{type}",
    params(("type" = String, Path, description = "Type of the refresh, such as `manifest`")),
    responses((status = 200))
)]
async fn refresh() -> Json<Value> {
    Json(json!({ "cachedIdentifiersByType": {} }))
}

/// Pending refreshes: always none.
#[utoipa::path(
    get,
    path = "/cache/{provider}/{type}",
    params(("type" = String, Path, description = "Type of the refresh, such as `manifest`"), ("id" = Option<String>, Query)),
    responses((status = 200))
)]
async fn pending() -> Json<[(); 0]> {
    Json([])
}

/// Agents of all accounts, with the number of cached objects.
#[utoipa::path(get, path = "/cache/introspection", responses((status = 200)))]
async fn introspection(State(state): State<RestState>) -> Result<Json<Vec<CachingAgent>>, Error> {
    let rows = state.store.accounts(&state.tenant).await?;
    let objects: HashMap<_, _> = state.store.object_counts(&state.tenant).await?.into_iter().collect();
    let count = |row: &AccountRow| objects.get(&row.description.name).copied().unwrap_or_default();
    Ok(Json(rows.iter().map(|row| CachingAgent::new(row, count(row))).collect()))
}

// === impl CachingAgent ===

impl CachingAgent {
    fn new(row: &AccountRow, objects: u64) -> Self {
        let agent = row.holder.as_ref().map_or(&row.announced_by, |holder| &holder.agent);
        Self {
            id: format!("{}/{agent}", row.description.name),
            provider: KUBERNETES,
            total_additions: objects,
            total_evictions: 0,
            details: json!({}),
            last_execution_start_ms: row.last_seen.as_millisecond(),
            last_execution_duration_ms: 0,
            last_execution_start_date: row.last_seen.strftime("%Y-%m-%d %H:%M:%S.%3f").to_string(),
        }
    }
}
