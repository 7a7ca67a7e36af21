//! Search, in the store.

use std::collections::BTreeSet;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use spindrift_spinnaker::view::{KUBERNETES, SearchPage, SearchTypes, Searched, search};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{applications::named, error::Error, request::Parameters};
use crate::{rest::RestState, store::RowSearch};

/// Of a page, unless the request says otherwise.
const USUAL_SIZE: usize = 10_000;
/// What is looked at at the most: pages are cut out of all hits, since what is found by its own name comes first.
const MOST_ROWS: u64 = 100_000;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// What has a text in its name, its account, its namespace, its application or its cluster.
#[utoipa::path(
    get,
    path = "/search",
    params(
        ("q" = Option<String>, Query, description = "Any part, in any case; everything if absent"),
        ("type" = String, Query, description = "What is looked for, by comma: `serverGroups`, `pod`, `applications` …"),
        ("platform" = Option<String>, Query),
        ("pageSize" = Option<u32>, Query),
        ("page" = Option<u32>, Query, description = "From one on")
    ),
    responses((status = 200), (status = 400))
)]
async fn list(State(state): State<RestState>, parameters: Parameters) -> Result<Response, Error> {
    let types = SearchTypes::parse(parameters.required_list("type")?);
    let (number, size) = (parameters.count("page", 1)?, parameters.count("pageSize", USUAL_SIZE)?);
    let query = parameters.text("q").unwrap_or_default();
    let platform = parameters.word("platform");
    let behind = state.staleness.everywhere().await?;
    if platform.is_some_and(|platform| platform != KUBERNETES) {
        return Ok(Json([SearchPage::new(query, Vec::new(), number, size).on(platform)]).into_response());
    }
    let limit = u64::try_from(number.saturating_mul(size)).map_or(MOST_ROWS, |shown| shown.min(MOST_ROWS));
    let wanted = RowSearch { text: query.to_owned(), types: types.clone(), limit };
    let rows = state.store.search_rows(&state.tenant, &wanted).await?;
    let places =
        if types.want_names() { state.store.cluster_refs(&state.tenant, None).await? } else { Vec::new() };
    let names: BTreeSet<_> = places.iter().map(|place| place.application.clone()).collect();
    let (applications, clusters): (Vec<_>, _) = (names.into_iter().collect(), named(places));
    let searched = Searched { rows: &rows, clusters: &clusters, applications: &applications };
    let page = SearchPage::new(query, search(query, &types, searched), number, size).on(platform);
    Ok((behind, Json([page])).into_response())
}
