//! Security groups: network policies, from the store. Each route shows one level less of account, provider and namespace.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::json;
use spindrift_model::AccountName;
use spindrift_spinnaker::{
    FullName, Inventory, Missing, Refusal, Row, SpinnakerKind,
    view::{KUBERNETES, SecurityGroup, SecurityGroupSummary, security_groups},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    error::Error,
    request::{Parameters, Segments},
};
use crate::rest::RestState;

/// Security groups of an account, by namespace.
type Groups<'a> = BTreeMap<&'a str, Vec<SecurityGroupSummary>>;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(of_account))
        .routes(routes!(of_provider))
        .routes(routes!(by_name))
        .routes(routes!(details))
}

/// All security groups.
#[utoipa::path(get, path = "/securityGroups", responses((status = 200)))]
async fn list(State(state): State<RestState>) -> Result<Response, Error> {
    let behind = state.staleness.everywhere().await?;
    let rows = state.store.rows_of_kind(&state.tenant, SpinnakerKind::SecurityGroups, None).await?;
    let groups = security_groups(&Inventory::new(&rows)).into_iter();
    let groups: BTreeMap<_, _> =
        groups.map(|(account, groups)| (account, BTreeMap::from([(KUBERNETES, groups)]))).collect();
    Ok((behind, Json(groups)).into_response())
}

/// The security groups of an account.
#[utoipa::path(
    get,
    path = "/securityGroups/{account}",
    params(
        ("region" = Option<String>, Query, description = "Only those of a namespace, as a list")
    ),
    responses((status = 200))
)]
async fn of_account(
    State(state): State<RestState>,
    Segments(account): Segments<String>,
    parameters: Parameters,
) -> Result<Response, Error> {
    let behind = state.staleness.of(&account).await?;
    let rows = rows(&state, &account).await?;
    let groups = groups(&rows);
    let shown = match parameters.word("region") {
        Some(region) if !of_region(&groups, region).is_empty() => {
            json!({ KUBERNETES: of_region(&groups, region) })
        }
        None if !groups.is_empty() => json!({ KUBERNETES: groups }),
        _ => json!({}),
    };
    Ok((behind, Json(shown)).into_response())
}

/// The security groups of an account and a provider.
#[utoipa::path(
    get,
    path = "/securityGroups/{account}/{provider}",
    params(
        ("region" = Option<String>, Query, description = "Only those of a namespace, as a list")
    ),
    responses((status = 200))
)]
async fn of_provider(
    State(state): State<RestState>,
    Segments((account, provider)): Segments<(String, String)>,
    parameters: Parameters,
) -> Result<Response, Error> {
    let behind = state.staleness.of(&account).await?;
    let rows = if provider == KUBERNETES { rows(&state, &account).await? } else { Vec::new() };
    let groups = groups(&rows);
    let shown = match parameters.word("region") {
        Some(region) => json!(of_region(&groups, region)),
        None => json!(groups),
    };
    Ok((behind, Json(shown)).into_response())
}

/// The security groups of a name, by namespace.
#[utoipa::path(
    get,
    path = "/securityGroups/{account}/{provider}/{name}",
    responses((status = 200))
)]
async fn by_name(
    State(state): State<RestState>,
    Segments((account, provider, name)): Segments<(String, String, String)>,
) -> Result<Response, Error> {
    let behind = state.staleness.of(&account).await?;
    let mut rows = if provider == KUBERNETES { rows(&state, &account).await? } else { Vec::new() };
    match FullName::parse(&name) {
        Ok(name) => rows.retain(|row| row.object.name == name.name),
        Err(_) => rows.clear(),
    }
    Ok((behind, Json(groups(&rows))).into_response())
}

/// One security group.
#[utoipa::path(
    get,
    path = "/securityGroups/{account}/{provider}/{region}/{name}",
    params(
        ("name" = String, Path, description = "Such as `networkPolicy shop`"),
        ("vpcId" = Option<String>, Query),
        ("getById" = Option<bool>, Query, description = "Not for Kubernetes")
    ),
    responses((status = 200), (status = 400), (status = 404))
)]
async fn details(
    State(state): State<RestState>,
    Segments((account, provider, region, name)): Segments<(String, String, String, String)>,
    parameters: Parameters,
) -> Result<Response, Error> {
    if parameters.flag("getById", false)? {
        return Err(Refusal::not_implemented("Not currently implemented.").into());
    }
    let behind = state.staleness.of(&account).await?;
    let missing = || Missing::SecurityGroup(&name);
    let full_name = FullName::parse(&name).map_err(|_| missing())?;
    let rows = if provider == KUBERNETES { rows(&state, &account).await? } else { Vec::new() };
    // The kind in the name is ignored.
    let is_wanted = |row: &&Row| row.object.namespace == region && row.object.name == full_name.name;
    let row = rows.iter().find(is_wanted).ok_or_else(missing)?;
    Ok((behind, Json(SecurityGroup::new(row))).into_response())
}

async fn rows(state: &RestState, account: &str) -> Result<Vec<Row>, Error> {
    let Ok(account) = AccountName::parse(account) else { return Ok(Vec::new()) };
    Ok(state.store.rows_of_kind(&state.tenant, SpinnakerKind::SecurityGroups, Some(&account)).await?)
}

/// Groups the rows of one account by namespace.
fn groups(rows: &[Row]) -> Groups<'_> {
    security_groups(&Inventory::new(rows)).into_values().next().unwrap_or_default()
}

fn of_region<'g>(groups: &'g Groups<'_>, region: &str) -> &'g [SecurityGroupSummary] {
    groups.get(region).map(Vec::as_slice).unwrap_or_default()
}
