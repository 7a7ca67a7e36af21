//! Supported operations.

use axum::Json;
use serde::Serialize;
use spindrift_spinnaker::SpinnakerOperation;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::rest::RestState;

#[derive(Debug, Serialize)]
struct Feature {
    name: &'static str,
    enabled: bool,
}

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().routes(routes!(stages))
}

/// The supported operations, for Orca's stages.
#[utoipa::path(get, path = "/features/stages", responses((status = 200)))]
async fn stages() -> Json<Vec<Feature>> {
    let feature = |operation: SpinnakerOperation| Feature { name: operation.name(), enabled: true };
    Json(SpinnakerOperation::ALL.into_iter().map(feature).collect())
}
