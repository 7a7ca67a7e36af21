//! Projects, which are Front50's.

use spindrift_spinnaker::Refusal;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{error::Error, request::Segments};
use crate::rest::RestState;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().routes(routes!(clusters))
}

/// The clusters of a project: what belongs to one is known to Front50, which this hub does not ask.
#[utoipa::path(
    get,
    path = "/projects/{project}/clusters",
    responses((status = 404))
)]
async fn clusters(Segments(project): Segments<String>) -> Error {
    let message = format!("Project not found (name: {project}): this hub knows no Front50 to ask for it");
    Refusal::not_found(message).into()
}
