//! Raw resources: all objects of an application, from the store.

use std::collections::HashMap;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use spindrift_spinnaker::{Row, view::RawResource};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{error::Error, request::Segments};
use crate::rest::RestState;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// All objects of an application, of the kinds that its accounts show.
#[utoipa::path(
    get,
    path = "/applications/{application}/rawResources",
    responses((status = 200))
)]
async fn list(
    State(state): State<RestState>,
    Segments(application): Segments<String>,
) -> Result<Response, Error> {
    let behind = state.staleness.everywhere().await?;
    let accounts = state.accounts.all().await?;
    let accounts: HashMap<_, _> = accounts.iter().map(|account| (account.name.as_str(), account)).collect();
    let rows = state.store.rows_listed_under(&state.tenant, &application).await?;
    let is_shown = |row: &&Row| {
        let (account, kind) = (accounts.get(&*row.account), &row.object.kind);
        account.is_some_and(|account| account.raw_resources.show(kind))
    };
    let resources: Vec<_> = rows.iter().filter(is_shown).map(RawResource::new).collect();
    Ok((behind, Json(resources)).into_response())
}
