//! Server group managers: deployments, from the store.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use spindrift_spinnaker::{Inventory, SpinnakerKind, view::ServerGroupManager};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{error::Error, request::Segments};
use crate::rest::RestState;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// The deployments of an application, with the replica sets they own.
#[utoipa::path(
    get,
    path = "/applications/{application}/serverGroupManagers",
    responses((status = 200))
)]
async fn list(
    State(state): State<RestState>,
    Segments(application): Segments<String>,
) -> Result<Response, Error> {
    let behind = state.staleness.everywhere().await?;
    let rows = state.store.rows_of_application_without_instances(&state.tenant, &application).await?;
    let inventory = Inventory::new(&rows);
    let managers = inventory.of_application(&application, SpinnakerKind::ServerGroupManagers);
    let managers: Vec<_> = managers.map(|row| ServerGroupManager::new(row, &inventory)).collect();
    Ok((behind, Json(managers)).into_response())
}
