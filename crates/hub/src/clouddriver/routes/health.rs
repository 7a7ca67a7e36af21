//! `/health`: readiness of the hub.

use axum::{Json, extract::State, http::StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use crate::rest::RestState;

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
    let mut awaited = state.readiness.awaited();
    if state.store.ping().await.is_err() {
        awaited.push("the database".into());
    }
    if awaited.is_empty() {
        (StatusCode::OK, Json(Health { status: "UP", awaited }))
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, Json(Health { status: "DOWN", awaited }))
    }
}
