//! Clouddriver's REST API, as Orca, Gate, Deck and Fiat speak it.

mod error;

use utoipa_axum::router::OpenApiRouter;

use super::RestState;

/// The routes, each in the file of its resource.
pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
}
