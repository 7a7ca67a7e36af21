//! API of a cluster over HTTP.
//!
//! ```text
//! request ─▶ Layer (faults) ─▶ user ─▶ route ─▶ allowed? ─┬─ discovery, OpenAPI, version, health
//!                                                        ├─ list, watch, get ──▶ Collection
//!                                                        ├─ create, update, patch, delete ──▶ Cluster
//!                                                        └─ scale, log, eviction, binding, token, reviews
//! answer  ◀─ Status, or JSON in the view that was asked for (object, metadata, table), gzip if large
//! ```

use std::sync::Arc;

use http::{Request, Response};

use crate::cluster::{Body, Cluster, ConnectionClosed, Next, RequestBody};
use crate::status::Status;

pub(crate) mod access;
mod apply;
mod create;
mod delete;
mod discovery;
mod get;
mod list;
mod logs;
mod managed_fields;
mod metrics;
mod negotiate;
mod openapi;
mod patch;
mod pods;
mod protobuf;
mod query;
mod request;
mod respond;
mod review;
mod route;
mod scale;
mod table;
mod update;
mod watch;

use self::request::ApiRequest;
use self::route::{RequestTarget, Route};

/// Handles a request for a cluster; its path no longer contains `/clusters/<name>`.
pub(crate) async fn handle(
    cluster: Arc<Cluster>,
    request: Request<RequestBody>,
) -> Result<Response<Body>, ConnectionClosed> {
    let next = Next { cluster };
    match next.cluster.layer() {
        Some(layer) => layer.handle(request, next).await,
        None => Ok(next.run(request).await),
    }
}

// === impl Next ===

impl Next {
    /// Passes the request to the API.
    pub async fn run(self, request: Request<RequestBody>) -> Response<Body> {
        let answer = match ApiRequest::read(self.cluster, request).await {
            Ok(call) => dispatch(&call),
            Err(status) => Err(status),
        };
        answer.unwrap_or_else(|status| respond::status(&status))
    }
}

fn dispatch(call: &ApiRequest) -> Result<Response<Body>, Status> {
    let route = Route::parse(call)?;
    access::check(call, &route)?;
    match route {
        Route::Resource(target) => resource(call, &target),
        Route::Metrics(usage) => metrics::respond(call, &usage),
        Route::Version => respond::json(&discovery::version()),
        Route::Health => Ok(respond::text(200, "ok")),
        Route::Paths => respond::json(&discovery::paths(&call.cluster.catalogue())),
        Route::Core => discovery::core(call),
        Route::Groups => discovery::groups(call),
        Route::Group(group) => discovery::group(call, &group),
        Route::Resources(group, version) => discovery::resources(call, &group, &version),
        Route::OpenApiV2 => Ok(openapi::v2(call)),
        Route::OpenApiV3 => respond::json(&openapi::v3_index(&call.cluster.catalogue())),
        Route::OpenApiV3Group(group, version) => openapi::v3(call, &group, &version),
        Route::Unknown => Ok(respond::text(404, "404 page not found\n")),
    }
}

fn resource(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let subresource = target.subresource.clone();
    match (target.verb, subresource.as_deref()) {
        ("list", None) => list::list(call, target),
        ("watch", None) => watch::watch(call, target),
        ("get", None | Some("status")) => get::get(call, target),
        ("create", None) if review::is_review(&target.resource) => review::create(call, target),
        ("create", None) => create::create(call, target),
        ("update", None | Some("status" | "finalize")) => update::update(call, target),
        ("patch", None | Some("status")) => patch::patch(call, target),
        ("delete", None) => delete::delete(call, target),
        ("deletecollection", None) => delete::delete_collection(call, target),
        ("get" | "update" | "patch", Some("scale")) => scale::scale(call, target),
        ("get", Some("log")) => logs::log(call, target),
        ("create", Some("eviction")) => pods::evict(call, target),
        ("create", Some("binding")) => pods::bind(call, target),
        ("create", Some("token")) => review::token(call, target),
        _ => Err(Status::method_not_allowed()),
    }
}

/// Error response outside of any cluster.
pub(crate) fn respond_status(status: &Status) -> Response<Body> {
    respond::status(status)
}

/// Document outside of any cluster.
pub(crate) fn respond_bytes(bytes: bytes::Bytes) -> Response<Body> {
    respond::bytes(200, bytes)
}
