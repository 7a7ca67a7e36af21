//! Server groups, from the store. Deck polls them.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use spindrift_model::AccountName;
use spindrift_spinnaker::{
    Coordinates, FullName, Inventory, Missing, Refusal, Row, SpinnakerKind,
    view::{ExpandedServerGroup, KUBERNETES, ServerGroup, ServerGroupSummary, server_group_id},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    error::Error,
    request::{Parameters, Segments},
    wire::long_json,
};
use crate::{clouddriver::stale_header::StaleHeader, rest::RestState, store::ApplicationRows};

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
        .routes(routes!(of_application))
        .routes(routes!(details_of_application))
        .routes(routes!(list))
        .routes(routes!(details))
}

/// The server groups of an application.
#[utoipa::path(
    get,
    path = "/applications/{application}/serverGroups",
    params(
        ("expand" = Option<bool>, Query, description = "With all details; false unless it is `true`"),
        ("cloudProvider" = Option<String>, Query),
        ("clusters" = Option<String>, Query, description = "Only those of `<account>:<cluster>`, by comma")
    ),
    responses((status = 200), (status = 400))
)]
async fn of_application(
    State(state): State<RestState>,
    Segments(application): Segments<String>,
    parameters: Parameters,
) -> Result<Response, Error> {
    let expand = parameters.is_true("expand");
    let behind = state.staleness.everywhere().await?;
    let clusters = parameters.list("clusters");
    if clusters.as_ref().map_or_else(|| is_of_others(&parameters), Vec::is_empty) {
        return Ok(none(behind));
    }
    let is_wanted = |row: &&Row| {
        let is_in = |cluster: &&str| cluster.split_once(':') == Some((&row.account, cluster_of(row)));
        clusters.as_ref().is_none_or(|clusters| clusters.iter().any(is_in))
    };
    if expand {
        let rows = state.store.rows_of_application(&state.tenant, &application).await?;
        let inventory = Inventory::new(&rows);
        let groups = inventory.of_application(&application, SpinnakerKind::ServerGroups).filter(is_wanted);
        let groups: Vec<_> = groups.map(|row| ExpandedServerGroup::new(row, &inventory)).collect();
        return Ok((behind, Json(groups)).into_response());
    }
    let listing = state.store.listing_of_application(&state.tenant, &application).await?;
    let inventory = listing.inventory();
    let groups = inventory.of_application(&application, SpinnakerKind::ServerGroups).filter(is_wanted);
    let groups: Vec<_> = groups.map(|row| ServerGroupSummary::new(row, &inventory)).collect();
    Ok((behind, long_json(&groups, listing.bytes())).into_response())
}

fn cluster_of(row: &Row) -> &str {
    row.cluster.as_deref().unwrap_or_default()
}

fn is_of_others(parameters: &Parameters) -> bool {
    parameters.word("cloudProvider").is_some_and(|provider| !provider.eq_ignore_ascii_case(KUBERNETES))
}

fn none(behind: StaleHeader) -> Response {
    (behind, Json([(); 0])).into_response()
}

/// Server groups of several applications, or by their ids.
#[utoipa::path(
    get,
    path = "/serverGroups",
    params(
        ("applications" = Option<String>, Query, description = "By comma"),
        ("ids" = Option<String>, Query, description = "`<account>:<region>:<name>`, by comma"),
        ("cloudProvider" = Option<String>, Query)
    ),
    responses((status = 200), (status = 400))
)]
async fn list(State(state): State<RestState>, parameters: Parameters) -> Result<Response, Error> {
    let named = |name| parameters.list(name).filter(|list| !list.is_empty());
    let behind = state.staleness.everywhere().await?;
    match (named("applications"), named("ids")) {
        (Some(_), None) if is_of_others(&parameters) => Ok(none(behind)),
        (Some(applications), None) => {
            let mut listings = Vec::new();
            for application in &applications {
                listings.push(state.store.listing_of_application(&state.tenant, application).await?);
            }
            let inventories: Vec<_> = listings.iter().map(ApplicationRows::inventory).collect();
            let groups: Vec<_> = std::iter::zip(&applications, &inventories)
                .flat_map(|(application, inventory)| {
                    let groups = inventory.of_application(application, SpinnakerKind::ServerGroups);
                    groups.map(|row| ServerGroupSummary::new(row, inventory))
                })
                .collect();
            let bytes = listings.iter().map(ApplicationRows::bytes).sum();
            Ok((behind, long_json(&groups, bytes)).into_response())
        }
        (None, Some(ids)) => {
            let mut found = Vec::new();
            for (account, object) in objects(&ids)? {
                let rows = state.store.rows_with_neighbours(&state.tenant, &account, &object).await?;
                found.push((account, object, rows));
            }
            let inventories: Vec<_> = found.iter().map(|(.., rows)| Inventory::new(rows)).collect();
            let groups: Vec<_> = std::iter::zip(&found, &inventories)
                .filter_map(|((account, object, _), inventory)| {
                    let Coordinates { kind, namespace, name } = object;
                    let row = inventory.find(account.as_str(), namespace, kind, name)?;
                    Some(ServerGroupSummary::new(row, inventory))
                })
                .collect();
            Ok((behind, Json(groups)).into_response())
        }
        _ => {
            let message = "Provide either 'applications' or 'ids' parameter (but not both)";
            Err(Refusal::illegal_argument(message).into())
        }
    }
}

/// Coordinates of these ids. Names that no server group can have, such as one without a kind, are left out.
fn objects(ids: &[&str]) -> Result<Vec<(AccountName, Coordinates)>, Refusal> {
    let invalid: Vec<_> = ids.iter().copied().filter(|id| server_group_id(id).is_none()).collect();
    if !invalid.is_empty() {
        return Err(Refusal::illegal_argument(format!(
            "Expected ids in the format <account>:<region>:<name> but got invalid ids: {}",
            invalid.join(", ")
        )));
    }
    let object = |id: &&str| {
        let (account, region, name) = server_group_id(id)?;
        Some((AccountName::parse(account).ok()?, FullName::parse(name).ok()?.at(region)))
    };
    Ok(ids.iter().filter_map(object).collect())
}

/// One server group. The application in the path is ignored.
#[utoipa::path(
    get,
    path = "/applications/{application}/serverGroups/{account}/{region}/{name}",
    params(
        ("name" = String, Path, description = "Such as `replicaSet shop-v000`"),
        ("includeDetails" = Option<bool>, Query)
    ),
    responses((status = 200), (status = 404))
)]
async fn details_of_application(
    State(state): State<RestState>,
    Segments((_application, account, region, name)): Segments<(String, String, String, String)>,
) -> Result<Response, Error> {
    shown(&state, &account, &region, &name).await
}

/// One server group, or another object of this name.
#[utoipa::path(
    get,
    path = "/serverGroups/{account}/{region}/{name}",
    params(
        ("includeDetails" = Option<bool>, Query)
    ),
    responses((status = 200), (status = 404))
)]
async fn details(
    State(state): State<RestState>,
    Segments((account, region, name)): Segments<(String, String, String)>,
) -> Result<Response, Error> {
    shown(&state, &account, &region, &name).await
}

async fn shown(state: &RestState, account: &str, region: &str, name: &str) -> Result<Response, Error> {
    let missing = || Missing::ServerGroup { account, region, name };
    let behind = state.staleness.of(account).await?;
    let (Ok(parsed), Ok(full_name)) = (AccountName::parse(account), FullName::parse(name)) else {
        return Err(missing().into());
    };
    let object = full_name.at(region);
    let rows = state.store.rows_with_neighbours(&state.tenant, &parsed, &object).await?;
    let inventory = Inventory::new(&rows);
    let Some(row) = inventory.find(account, region, &object.kind, &object.name) else {
        return Err(missing().into());
    };
    Ok((behind, Json(ServerGroup::new(row, &inventory))).into_response())
}
