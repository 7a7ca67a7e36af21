//! The agent's own HTTP endpoints: health for probes, state for operators.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use prometheus_client::registry::Registry;
use serde_json::json;
use spindrift_process::metrics;
use tokio::sync::watch;

use crate::{account::Accounts, board::Board};

/// What the endpoints read from.
#[derive(Debug, Clone)]
pub struct EndpointState {
    /// Accounts and watches.
    pub board: Board,
    /// The accounts that can be served.
    pub ready_rx: watch::Receiver<Accounts>,
    /// Whether a session with the hub is open.
    pub connected_rx: watch::Receiver<bool>,
}

/// All routes.
pub fn router(state: EndpointState, registry: Arc<Registry>) -> Router {
    Router::new()
        .route("/health", get(health))
        .route(
            "/accounts",
            get(|State(state): State<EndpointState>| async move { Json(state.board.accounts()) }),
        )
        .route("/accounts/{name}/version", get(account_version))
        .route(
            "/watches",
            get(|State(state): State<EndpointState>| async move { Json(state.board.watches()) }),
        )
        .route("/version", get(|| async { Json(json!({ "version": crate::VERSION })) }))
        .with_state(state)
        .merge(metrics::router(registry))
}

/// Ready as soon as it runs: whether the hub can be reached is shown, but restarting the agent would not help.
async fn health(State(state): State<EndpointState>) -> Json<serde_json::Value> {
    let connected = *state.connected_rx.borrow();
    Json(json!({ "status": "UP", "hub": if connected { "connected" } else { "disconnected" } }))
}

async fn account_version(State(state): State<EndpointState>, Path(name): Path<String>) -> Response {
    match state.ready_rx.borrow().get(name.as_str()) {
        Some(account) => Json(json!({ "version": account.description.kubernetes_version })).into_response(),
        None => {
            (StatusCode::NOT_FOUND, Json(json!({ "message": format!("account {name} is not discovered") })))
                .into_response()
        }
    }
}
