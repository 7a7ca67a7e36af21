//! The agent's own HTTP endpoints: health for probes, state for operators.

mod accounts;
mod debug;
mod logging;

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::{Value, json};
use spindrift_process::{logging::Logging, shutdown::Shutdown};
use tokio::sync::watch;

use crate::{
    accounts::{Accounts, reload::Configuration},
    operate::{RunningOperation, RunningOperations},
    status::AgentStatus,
    uplink::Link,
};

/// State that the endpoints read.
#[derive(Debug, Clone)]
pub struct EndpointState {
    /// Accounts and watches.
    pub status: AgentStatus,
    /// Accounts that can be served.
    pub ready_rx: watch::Receiver<Accounts>,
    /// State of the link to the hub.
    pub link_rx: watch::Receiver<Link>,
    /// State of the configuration.
    pub shown_rx: watch::Receiver<Configuration>,
    /// Logging of this process, if the agent has set it up.
    pub logging: Option<Logging>,
    /// Set if changes are accepted from every client.
    pub remote_changes: bool,
    /// Operations that have not ended.
    pub operations: RunningOperations,
    /// Running tasks.
    pub tasks: Shutdown,
}

/// Error response with its message.
struct ErrorResponse(StatusCode, String);

/// Returns all routes except those of metrics.
pub fn router(state: EndpointState) -> Router {
    Router::new()
        .route("/health", get(health))
        .route("/accounts", get(accounts::list))
        .route("/accounts/{name}/version", get(account_version))
        .route("/operations", get(operations))
        .route("/watches", get(watches))
        .route("/version", get(version))
        .route("/logging/level", get(logging::level).put(logging::set_level))
        .merge(debug())
        .with_state(state)
}

/// Returns the routes for debugging the agent itself.
pub(crate) fn debug() -> Router<EndpointState> {
    Router::new()
        .route("/debug/tasks", get(debug::tasks))
        .route("/debug/pprof", get(debug::pprof))
        .route("/debug/pprof/", get(debug::pprof))
        .route("/debug/pprof/{*profile}", get(debug::pprof))
}

/// Reports healthy as soon as the agent runs: problems are shown, but restarting the agent would not help.
async fn health(State(state): State<EndpointState>) -> Json<Value> {
    let Link { connected, since, error, disconnected } = state.link_rx.borrow().clone();
    let hub = if connected { "connected" } else { "disconnected" };
    let disconnected = disconnected.map(|(at, reason)| json!({ "at": at, "reason": reason }));
    let link = json!({ "since": since, "error": error, "lastDisconnect": disconnected });
    let configuration = state.shown_rx.borrow().clone();
    Json(json!({ "status": "UP", "hub": hub, "link": link, "configuration": configuration }))
}

async fn account_version(
    State(state): State<EndpointState>,
    Path(name): Path<String>,
) -> Result<Json<Value>, ErrorResponse> {
    match state.ready_rx.borrow().get(name.as_str()) {
        Some(account) => Ok(Json(json!({ "version": account.description.kubernetes_version }))),
        None => Err(ErrorResponse(StatusCode::NOT_FOUND, format!("account {name} is not discovered"))),
    }
}

/// Returns the operations that wait or run in this agent.
async fn operations(State(state): State<EndpointState>) -> Json<Vec<RunningOperation>> {
    Json(state.operations.list())
}

async fn watches(State(state): State<EndpointState>) -> Response {
    Json(state.status.watches()).into_response()
}

async fn version() -> Json<Value> {
    Json(json!({ "version": crate::VERSION }))
}

// === impl ErrorResponse ===

impl ErrorResponse {
    /// Returns a 400 with this message.
    fn bad_request(message: impl Into<String>) -> Self {
        Self(StatusCode::BAD_REQUEST, message.into())
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let Self(status, message) = self;
        (status, Json(json!({ "message": message }))).into_response()
    }
}
