//! Clouddriver's REST API, as Orca, Gate, Deck and Fiat speak it.

mod error;
mod operations;
mod tasks;

use utoipa_axum::router::OpenApiRouter;

use super::RestState;

/// The routes, each in the file of its resource.
pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().merge(operations::routes()).merge(tasks::routes())
}
