//! Applications and the names of their clusters, from the store.

use std::collections::BTreeSet;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use spindrift_spinnaker::{
    Missing,
    view::{ApplicationDetails, ClusterRef, applications, clusters_of},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    error::Error,
    request::{Parameters, Segments},
};
use crate::{rest::RestState, store::ClusterPlace};

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(application)).routes(routes!(clusters))
}

/// All applications that have a cluster; `restricted` and `expand` are ignored.
#[utoipa::path(
    get,
    path = "/applications",
    params(("restricted" = Option<bool>, Query), ("expand" = Option<bool>, Query)),
    responses((status = 200), (status = 400))
)]
async fn list(State(state): State<RestState>, parameters: Parameters) -> Result<Response, Error> {
    parameters.flag("restricted", true)?;
    parameters.flag("expand", true)?;
    let behind = state.staleness.everywhere().await?;
    let clusters = named(state.store.cluster_refs(&state.tenant, None).await?);
    let names: BTreeSet<_> = clusters.iter().map(|cluster| cluster.application.as_str()).collect();
    let shown = applications(names, &clusters);
    Ok((behind, Json(shown)).into_response())
}

/// One application.
#[utoipa::path(
    get,
    path = "/applications/{application}",
    responses((status = 200), (status = 404))
)]
async fn application(
    State(state): State<RestState>,
    Segments(application): Segments<String>,
) -> Result<Response, Error> {
    let behind = state.staleness.everywhere().await?;
    let clusters = named(state.store.cluster_refs(&state.tenant, Some(&application)).await?);
    if clusters.is_empty() {
        return Err(Missing::Application(&application).into());
    }
    Ok((behind, Json(ApplicationDetails::new(&application, &clusters))).into_response())
}

/// The names of an application's clusters, by account.
#[utoipa::path(
    get,
    path = "/applications/{application}/clusters",
    responses((status = 200))
)]
async fn clusters(
    State(state): State<RestState>,
    Segments(application): Segments<String>,
) -> Result<Response, Error> {
    let behind = state.staleness.everywhere().await?;
    let clusters = named(state.store.cluster_refs(&state.tenant, Some(&application)).await?);
    Ok((behind, Json(clusters_of(&application, &clusters))).into_response())
}

/// Entries with a cluster. As in Clouddriver, an application exists by its clusters: an unmanaged pod, service or
/// cluster-scoped object makes none.
pub(super) fn named(places: Vec<ClusterPlace>) -> Vec<ClusterRef> {
    let named = |place: ClusterPlace| {
        let ClusterPlace { application, account, cluster } = place;
        Some(ClusterRef { application, account, cluster: cluster? })
    };
    places.into_iter().filter_map(named).collect()
}
