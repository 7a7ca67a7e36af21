//! Search in the store.

use std::collections::BTreeSet;

use axum::{
    Json,
    extract::State,
    http::HeaderName,
    response::{IntoResponse, IntoResponseParts, Response, ResponseParts},
};
use spindrift_spinnaker::view::{KUBERNETES, SearchPage, SearchTypes, Searched, search};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{applications::named, error::Error, request::Parameters};
use crate::{rest::RestState, store::RowSearch};

/// Default page size.
const DEFAULT_SIZE: i32 = 10_000;
/// Number of rows read: pages are cut from all hits, since hits by name come first.
const MAX_ROWS: usize = 100_000;
/// Number of objects searched, if more match.
const TRUNCATED: HeaderName = HeaderName::from_static("x-spindrift-truncated");

/// Header of an incomplete search.
struct Truncated(Option<usize>);

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Entries with a text in their name, account, namespace, application or cluster.
#[utoipa::path(
    get,
    path = "/search",
    params(
        ("q" = Option<String>, Query, description = "Any part, in any case; everything if absent"),
        ("type" = String, Query, description = "Types to search, by comma: `serverGroups`, `pod`, `applications` …"),
        ("platform" = Option<String>, Query),
        ("pageSize" = Option<i32>, Query),
        ("page" = Option<i32>, Query, description = "From one on")
    ),
    responses((status = 200), (status = 400))
)]
async fn list(State(state): State<RestState>, parameters: Parameters) -> Result<Response, Error> {
    let types = SearchTypes::parse(parameters.required_list("type")?);
    let (number, size) = (parameters.number("page", 1)?, parameters.number("pageSize", DEFAULT_SIZE)?);
    let query = parameters.text("q").unwrap_or_default();
    let platform = parameters.word("platform");
    let behind = state.staleness.everywhere().await?;
    let limit = needed(number, size);
    if limit == 0 || platform.is_some_and(|platform| platform != KUBERNETES) {
        return Ok(Json([SearchPage::new(query, Vec::new(), number, size)]).into_response());
    }
    let wanted = RowSearch { text: query.to_owned(), types: types.clone(), limit };
    let mut rows = state.store.search_rows(&state.tenant, &wanted).await?;
    let truncated = Truncated::cut(&mut rows, MAX_ROWS);
    let places =
        if types.want_names() { state.store.cluster_refs(&state.tenant, None).await? } else { Vec::new() };
    let names: BTreeSet<_> = places.iter().map(|place| place.application.clone()).collect();
    let (applications, clusters): (Vec<_>, _) = (names.into_iter().collect(), named(places));
    let searched = Searched { rows: &rows, clusters: &clusters, applications: &applications };
    let page = SearchPage::new(query, search(query, &types, searched), number, size).on(platform);
    Ok((behind, truncated, Json([page])).into_response())
}

/// Number of rows that a page needs, as each is at least one hit. One more than the limit shows that there are more.
fn needed(number: i32, size: i32) -> u64 {
    let count = |number: i32| u64::try_from(number).unwrap_or(0);
    (count(number) * count(size)).min(MAX_ROWS as u64 + 1)
}

// === impl Truncated ===

impl Truncated {
    fn cut<T>(rows: &mut Vec<T>, most: usize) -> Self {
        let searched = (rows.len() > most).then_some(most);
        rows.truncate(most);
        Self(searched)
    }
}

impl IntoResponseParts for Truncated {
    type Error = std::convert::Infallible;

    fn into_response_parts(self, mut parts: ResponseParts) -> Result<ResponseParts, Self::Error> {
        if let Self(Some(searched)) = self {
            parts.headers_mut().insert(TRUNCATED, searched.into());
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_rows_are_read_than_a_page_needs() {
        for (number, size, rows) in [
            (1, 10_000, 10_000),
            (3, 500, 1500),
            (10, 10_000, 100_000),
            (11, 10_000, 100_001),
            (i32::MAX, i32::MAX, 100_001),
            (0, 10, 0),
            (-1, -1, 0),
            (1, -1, 0),
        ] {
            assert_eq!(needed(number, size), rows, "page {number} of {size}");
        }
    }

    #[test]
    fn an_incomplete_search_has_a_header() {
        let header = |count: usize| {
            let mut rows = vec![(); count];
            let response = (Truncated::cut(&mut rows, 3), ()).into_response();
            (rows.len(), response.headers().get(TRUNCATED).map(|value| value.to_str().unwrap().to_owned()))
        };
        assert_eq!(header(3), (3, None));
        assert_eq!(header(4), (3, Some("3".into())));
    }
}
