//! Clusters of the projects that Front50 stores.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use spindrift_spinnaker::Refusal;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{error::Error, request::Segments};
use crate::rest::RestState;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().routes(routes!(clusters))
}

/// Clusters of a project, whose applications Front50 names.
#[utoipa::path(
    get,
    path = "/projects/{project}/clusters",
    responses((status = 200), (status = 404), (status = 500, description = "Front50 failed"))
)]
async fn clusters(
    State(state): State<RestState>,
    Segments(name): Segments<String>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let Some(front50) = &state.front50 else {
        let message = format!("Project not found (name: {name}): services.front50.baseUrl is not set");
        return Err(Refusal::not_found(message).into());
    };
    let found = front50.project(&name, &headers).await?;
    let project = found.ok_or_else(|| Refusal::not_found(format!("Project not found (name: {name})")))?;
    let behind = state.staleness.everywhere().await?;
    let mut listings = BTreeMap::new();
    for application in project.applications() {
        if !listings.contains_key(&**application) {
            let listing = state.store.listing_of_application(&state.tenant, application).await?;
            listings.insert(&**application, listing);
        }
    }
    let inventories =
        listings.iter().map(|(application, listing)| (*application, listing.inventory())).collect();
    Ok((behind, Json(project.clusters(&inventories))).into_response())
}
