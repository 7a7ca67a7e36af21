//! Clouddriver's REST API, as Orca, Gate, Deck and Fiat use it.
//!
//! ```text
//! request ─▶ Segments, Parameters ─▶ route of a resource ─▶ store, or live ─▶ view (crate spinnaker) ─▶ wire ─▶ response
//!                   │                        │                                                        ETag
//!                   └──── Problem            └──── Refusal, Missing
//! ```

mod error;
mod read;
mod request;
mod wire;

mod applications;
mod artifacts;
mod cache;
mod clusters;
mod credentials;
mod empty;
mod features;
mod health;
mod instances;
mod jobs;
mod load_balancers;
mod managers;
mod manifests;
mod operations;
mod projects;
mod raw_resources;
mod search;
mod security_groups;
mod server_groups;
mod tasks;

use axum::middleware::from_fn;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::rest::RestState;
pub(crate) use error::Error;
pub(crate) use wire::{no_such_route, tagged, without_trailing_slash};

/// All routes; each resource has a file.
pub(crate) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .routes(routes!(health::live))
        .merge(applications::routes())
        .merge(artifacts::routes())
        .merge(cache::routes())
        .merge(clusters::routes())
        .merge(credentials::routes())
        .merge(empty::routes())
        .merge(features::routes())
        .merge(instances::routes())
        .merge(jobs::routes())
        .merge(load_balancers::routes())
        .merge(managers::routes())
        .merge(manifests::routes())
        .merge(operations::routes())
        .merge(projects::routes())
        .merge(raw_resources::routes())
        .merge(search::routes())
        .merge(security_groups::routes())
        .merge(server_groups::routes())
        .merge(tasks::routes())
        .layer(from_fn(wire::finish))
}
