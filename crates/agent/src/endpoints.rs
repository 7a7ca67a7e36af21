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
    status::Board,
    uplink::Link,
};

/// What the endpoints read from.
#[derive(Debug, Clone)]
pub struct EndpointState {
    /// Accounts and watches.
    pub board: Board,
    /// The accounts that can be served.
    pub ready_rx: watch::Receiver<Accounts>,
    /// How the link to the hub is.
    pub link_rx: watch::Receiver<Link>,
    /// The state of the configuration.
    pub shown_rx: watch::Receiver<Configuration>,
    /// The logging of this process, if it is ours.
    pub logging: Option<Logging>,
    /// Whether everybody may change what can be changed.
    pub remote_changes: bool,
    /// What runs.
    pub tasks: Shutdown,
}

/// An answer that says what is wrong with the question.
struct Wrong(StatusCode, String);

/// All routes but those of metrics.
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

/// What is there for those who look for a fault in the agent itself.
pub(crate) fn debug() -> Router<EndpointState> {
    Router::new()
        .route("/debug/tasks", get(debug::tasks))
        .route("/debug/pprof", get(debug::pprof))
        .route("/debug/pprof/", get(debug::pprof))
        .route("/debug/pprof/{*profile}", get(debug::pprof))
}

/// Ready as soon as it runs: what is wrong is shown, but restarting the agent would not help.
async fn health(State(state): State<EndpointState>) -> Json<Value> {
    let Link { connected, since, error } = state.link_rx.borrow().clone();
    let hub = if connected { "connected" } else { "disconnected" };
    let link = json!({ "since": since, "error": error });
    let configuration = state.shown_rx.borrow().clone();
    Json(json!({ "status": "UP", "hub": hub, "link": link, "configuration": configuration }))
}

async fn account_version(
    State(state): State<EndpointState>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Wrong> {
    match state.ready_rx.borrow().get(name.as_str()) {
        Some(account) => Ok(Json(json!({ "version": account.description.kubernetes_version }))),
        None => Err(Wrong(StatusCode::NOT_FOUND, format!("account {name} is not discovered"))),
    }
}

/// Empty: the Scale Agent has it, and what runs here is told by the hub.
async fn operations() -> Json<[Value; 0]> {
    Json([])
}

async fn watches(State(state): State<EndpointState>) -> Response {
    Json(state.board.watches()).into_response()
}

async fn version() -> Json<Value> {
    Json(json!({ "version": crate::VERSION }))
}

// === impl Wrong ===

impl Wrong {
    /// The question itself is wrong.
    fn bad_request(message: impl Into<String>) -> Self {
        Self(StatusCode::BAD_REQUEST, message.into())
    }
}

impl IntoResponse for Wrong {
    fn into_response(self) -> Response {
        let Self(status, message) = self;
        (status, Json(json!({ "message": message }))).into_response()
    }
}
