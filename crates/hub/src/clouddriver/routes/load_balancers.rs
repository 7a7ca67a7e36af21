//! Load balancers: services and ingresses, from the store.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use spindrift_model::AccountName;
use spindrift_spinnaker::{
    FullName, Inventory, Refusal, SpinnakerKind,
    view::{KUBERNETES, LoadBalancer},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{error::Error, request::Segments, wire::long_json};
use crate::rest::RestState;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
        .routes(routes!(of_application))
        .routes(routes!(of_provider))
        .routes(routes!(by_name))
        .routes(routes!(details))
}

/// The load balancers of an application.
#[utoipa::path(
    get,
    path = "/applications/{application}/loadBalancers",
    responses((status = 200))
)]
async fn of_application(
    State(state): State<RestState>,
    Segments(application): Segments<String>,
) -> Result<Response, Error> {
    let behind = state.staleness.everywhere().await?;
    let listing = state.store.listing_of_application(&state.tenant, &application).await?;
    let inventory = listing.inventory();
    let balancers = LoadBalancer::of_application(&application, &inventory);
    Ok((behind, long_json(&balancers, listing.bytes())).into_response())
}

/// The load balancers of a provider: empty, since those of Kubernetes are listed by application only.
#[utoipa::path(
    get,
    path = "/{provider}/loadBalancers",
    responses((status = 200), (status = 400))
)]
async fn of_provider(Segments(provider): Segments<String>) -> Result<Json<[(); 0]>, Error> {
    check(&provider)?;
    Ok(Json([]))
}

/// Load balancers by name: not for Kubernetes.
#[utoipa::path(
    get,
    path = "/{provider}/loadBalancers/{name}",
    responses((status = 400))
)]
async fn by_name(Segments((provider, _name)): Segments<(String, String)>) -> Error {
    match check(&provider) {
        Ok(()) => Refusal::not_implemented("Not a valid operation").into(),
        Err(error) => error,
    }
}

/// One load balancer, or none.
#[utoipa::path(
    get,
    path = "/{provider}/loadBalancers/{account}/{region}/{name}",
    params(
        ("name" = String, Path, description = "Such as `service shop`")
    ),
    responses((status = 200), (status = 400))
)]
async fn details(
    State(state): State<RestState>,
    Segments((provider, account, region, name)): Segments<(String, String, String, String)>,
) -> Result<Response, Error> {
    check(&provider)?;
    let behind = state.staleness.of(&account).await?;
    let (Ok(account), Ok(name)) = (AccountName::parse(&account), FullName::parse(&name)) else {
        return Ok((behind, Json([(); 0])).into_response());
    };
    let object = name.at(region);
    let rows = state.store.rows_with_neighbours(&state.tenant, &account, &object).await?;
    let inventory = Inventory::new(&rows);
    let found = inventory.find(account.as_str(), &object.namespace, &object.kind, &object.name);
    let balancer = found.filter(|row| row.spinnaker_kind == SpinnakerKind::LoadBalancers);
    let balancer: Vec<_> = balancer.into_iter().map(|row| LoadBalancer::new(row, &inventory)).collect();
    Ok((behind, Json(balancer)).into_response())
}

fn check(provider: &str) -> Result<(), Error> {
    if provider == KUBERNETES { Ok(()) } else { Err(Refusal::no_such_provider(provider).into()) }
}
