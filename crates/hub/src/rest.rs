//! REST: the fleet as the store has it, for people, scripts and Spinnaker.
//!
//! Each resource has a file with its own routes; they meet here, below one description (`/openapi.json`).

mod accounts;
mod agents;
mod armory;
pub(crate) mod body;
mod description;
mod error;
mod fields;
mod forget;
mod freeze;
mod home;
mod kinds;
mod live;
mod media_type;
mod objects;
mod operations;
mod position;
mod read_buffer;
mod request_time;
mod selection;
mod selector;
mod watch;
mod watches;

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::Request,
    http::{HeaderMap, Uri},
    middleware::{from_fn, from_fn_with_state},
    response::IntoResponse,
    routing::get,
};
use prometheus_client::registry::Registry;
use spindrift_model::{CacheKinds, TenantId};
use spindrift_process::{metrics, readiness::Readiness};
use spindrift_spinnaker::view::AccountMarks;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    clouddriver::{Accounts, Artifacts, Front50, Live, Staleness, Tasks, routes as clouddriver},
    dispatch::Dispatch,
    ingest::Feed,
    metrics::Metrics,
    store::{Store, WriteProbe},
};
pub use kinds::CustomNames;
pub use live::ServedKinds;
pub use read_buffer::ReadBuffers;
use request_time::RequestTime;

/// Duration after which a silent agent or hub is not shown as alive.
const ALIVE: Duration = Duration::from_mins(1);

/// State of the routes.
#[derive(Debug, Clone)]
pub struct RestState {
    /// The database.
    pub store: Store,
    /// Result of the last write to it.
    pub probe: Arc<WriteProbe>,
    /// Sends operations to agents.
    pub dispatch: Dispatch,
    /// The accounts, as Spinnaker sees them.
    pub accounts: Accounts,
    /// Marks of accounts for Spinnaker.
    pub marks: Arc<AccountMarks>,
    /// The clusters themselves.
    pub live: Live,
    /// Tasks of Spinnaker.
    pub tasks: Tasks,
    /// Which accounts are not as they should be.
    pub staleness: Arc<Staleness>,
    /// Where files of pipelines are fetched from.
    pub artifacts: Arc<Artifacts>,
    /// Source of projects, if configured.
    pub front50: Option<Arc<Front50>>,
    /// Set if jobs are shown with the states of their pods.
    pub detailed_pod_status: bool,
    /// Wakes readers of the change feed.
    pub feed: Arc<Feed>,
    /// Kinds that agents cache.
    pub kinds: Arc<CacheKinds>,
    /// Texts that clients have not taken yet.
    pub read_buffers: Arc<ReadBuffers>,
    /// Short names of custom resources.
    pub custom_names: Arc<CustomNames>,
    /// Resources that clusters serve, for live reads.
    pub served_kinds: Arc<ServedKinds>,
    /// Readiness of the hub's parts.
    pub readiness: Readiness,
    /// Tenant of the accounts.
    pub tenant: TenantId,
    /// The hub's counters.
    pub metrics: Arc<Metrics>,
    /// Ends the watches when the hub stops.
    pub shutdown: CancellationToken,
}

/// All routes.
pub fn router(state: RestState, registry: Arc<Registry>) -> Router {
    let metrics = state.metrics.clone();
    let (router, description) = routes().with_state(state).split_for_parts();
    let description = description::completed(description);
    let times = RequestTime::new(metrics, &description);
    let router = router
        .route_layer(from_fn(media_type::require_json))
        .route_layer(from_fn_with_state(times, request_time::observe))
        .route("/openapi.json", get(|| async move { Json(description) }))
        .merge(metrics::router(registry))
        .merge(home::router())
        .fallback(not_found);
    // Before a route is looked for, so it is around the router and not a layer of it.
    let tolerant: fn(Request) -> Request = clouddriver::without_trailing_slash;
    Router::new().fallback_service(router.map_request(tolerant))
}

/// Those that are described.
fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::with_openapi(description::frame())
        .routes(routes!(accounts::list))
        .routes(routes!(forget::forget))
        .routes(routes!(agents::list))
        .routes(routes!(agents::version))
        .routes(routes!(kinds::list))
        .routes(routes!(watches::list))
        .routes(routes!(watches::namespaces))
        .routes(routes!(objects::list))
        .routes(routes!(watch::watch))
        .routes(routes!(operations::ask::ask))
        .routes(routes!(operations::list))
        .routes(routes!(operations::get, operations::cancel))
        .routes(routes!(operations::result))
        .routes(routes!(freeze::freeze, freeze::unfreeze))
        .routes(routes!(armory::agents))
        .routes(routes!(armory::agent))
        .routes(routes!(armory::operations::operations))
        .routes(routes!(armory::operations::operation))
        .routes(routes!(armory::hubs))
        .routes(routes!(armory::account))
        .merge(clouddriver::routes())
}

/// Paths that are ours; all others are Clouddriver's.
const OURS: [&str; 3] = ["/v1/", "/armory/", "/agents/"];

/// Answers an agent that dials the REST port with a gRPC status, and all others with 404.
async fn not_found(uri: Uri, headers: HeaderMap) -> axum::response::Response {
    let content_type = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !content_type.starts_with("application/grpc") {
        if !OURS.iter().any(|ours| uri.path().starts_with(ours)) {
            return clouddriver::no_such_route(&uri);
        }
        return error::Error::not_found("there is nothing here; /openapi.json describes what there is")
            .into_response();
    }
    // A gRPC answer without a body: its status travels in the headers (code 12 is UNIMPLEMENTED).
    let message =
        "this is the hub's REST port; set clouddriver.grpc to its gRPC port (kubesvc.grpc.server.port, 9091)";
    ([("content-type", "application/grpc"), ("grpc-status", "12"), ("grpc-message", message)], "")
        .into_response()
}
