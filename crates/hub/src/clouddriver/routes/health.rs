//! `/health`: readiness of the hub, and the two probes of Kubernetes.

use std::time::Duration;

use axum::{Json, extract::State, http::StatusCode};
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::rest::RestState;

/// Time in which the database must answer; callers of a health check wait a few seconds.
const PING: Duration = Duration::from_secs(2);

/// Health of the hub.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// `UP` or `DOWN`.
    status: &'static str,
    /// Components that are not ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    awaited: Vec<String>,
}

/// Health of the hub.
#[utoipa::path(get, path = "/health", responses((status = 200, body = Health), (status = 503, body = Health)))]
pub(super) async fn health(State(state): State<RestState>) -> (StatusCode, Json<Health>) {
    readiness(state).await
}

/// Whether the hub serves: it has started, and its database answers and accepts writes.
#[utoipa::path(
    get,
    path = "/health/readiness",
    responses((status = 200, body = Health), (status = 503, body = Health))
)]
pub(super) async fn ready(State(state): State<RestState>) -> (StatusCode, Json<Health>) {
    readiness(state).await
}

/// Whether the process answers; the database plays no part in it, since a restart of the hub does not repair that.
#[utoipa::path(get, path = "/health/liveness", responses((status = 200, body = Health)))]
pub(super) async fn live() -> Json<Health> {
    Json(Health { status: "UP", awaited: Vec::new() })
}

async fn readiness(state: RestState) -> (StatusCode, Json<Health>) {
    let mut awaited = state.readiness.awaited();
    if !matches!(timeout(PING, state.store.ping()).await, Ok(Ok(()))) {
        awaited.push("the database".into());
    }
    if !state.probe.accepts_writes() {
        awaited.push("writes to the database".into());
    }
    if awaited.is_empty() {
        (StatusCode::OK, Json(Health { status: "UP", awaited }))
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "DOWN", awaited }))
    }
}
