//! Manifests read live from clusters. Orca polls them, and Deck shows single ones.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use futures::join;
use serde_json::Value;
use spindrift_model::{List, OperationError, Top, Verb};
use spindrift_spinnaker::{
    Coordinates, FullName, Kind, Manifest, Missing, Problem, Refusal,
    target::{self, Criteria},
    view::{ContainerMetrics, ManifestView, event_selector},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    error::Error,
    read,
    request::{Parameters, Segments},
};
use crate::{
    clouddriver::{Account, object_ref::DEFAULT_NAMESPACE},
    rest::RestState,
};

/// Location of a cluster-scoped object in a path.
const CLUSTER_SCOPED: &str = "_";

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
        .routes(routes!(manifest))
        .routes(routes!(manifest_without_location))
        .routes(routes!(cluster))
        .routes(routes!(dynamic))
}

/// One object, live, with its status.
#[utoipa::path(
    get,
    path = "/manifests/{account}/{location}/{name}",
    params(
        ("location" = String, Path, description = "The namespace; `_` for kinds without"),
        ("name" = String, Path, description = "`<kind> <name>`"),
        ("includeEvents" = Option<bool>, Query, description = "With its events and metrics; true if absent")
    ),
    responses((status = 200), (status = 400), (status = 404), (status = 500, description = "The cluster could not be read"))
)]
async fn manifest(
    State(state): State<RestState>,
    Segments((account, location, name)): Segments<(String, String, String)>,
    parameters: Parameters,
) -> Result<Response, Error> {
    let location = if location == CLUSTER_SCOPED { "" } else { &location };
    shown(&state, &account, location, &name, &parameters).await
}

/// One object of a kind without namespaces, live, with its status.
#[utoipa::path(
    get,
    path = "/manifests/{account}/{name}",
    params(("includeEvents" = Option<bool>, Query)),
    responses((status = 200), (status = 400), (status = 404), (status = 500, description = "The cluster could not be read"))
)]
async fn manifest_without_location(
    State(state): State<RestState>,
    Segments((account, name)): Segments<(String, String)>,
    parameters: Parameters,
) -> Result<Response, Error> {
    shown(&state, &account, "", &name, &parameters).await
}

async fn shown(
    state: &RestState,
    account: &str,
    location: &str,
    name: &str,
    parameters: &Parameters,
) -> Result<Response, Error> {
    let around = parameters.flag("includeEvents", true)?;
    let missing = || Error::from(Missing::Manifest { account, location, name });
    let Ok(object) = FullName::parse(name) else { return Err(missing()) };
    let Some(account) = state.accounts.find(account).await? else { return Err(missing()) };
    let found = read::find(&state.live, &account, &object.at(location)).await?;
    let object = found.ok_or_else(missing)?;
    let (events, metrics) = if around {
        let (events, metrics) = join!(events(state, &account, &object), metrics(state, &account, &object));
        (events.map_err(|error| read::unreadable("events", &account, &error))?, metrics)
    } else {
        (Vec::new(), Vec::new())
    };
    let view = ManifestView::new(&account.settings.name, &object, events, metrics);
    let view = view.map_err(|unsupported| {
        let asked = format!("(account: {}, location: {location}, name: {name})", account.name);
        Refusal::internal(format!("Failed to read manifest: {asked}: {unsupported}"))
    })?;
    Ok(Json(view).into_response())
}

/// Events of an object; none if the account may not read them, as with kubectl.
async fn events(
    state: &RestState,
    account: &Account,
    object: &Manifest,
) -> Result<Vec<Value>, OperationError> {
    let namespace = Some(object.namespace()).filter(|namespace| !namespace.is_empty());
    let list = List {
        field_selector: Some(event_selector(&object.coordinates())),
        ..read::all(account, &Kind::parse("event"), namespace.unwrap_or(DEFAULT_NAMESPACE))
    };
    match state.live.list(&account.name, list).await {
        Err(error) if error.is_failure() && matches!(error.code, 401 | 403) => Ok(Vec::new()),
        answer => answer,
    }
}

/// Metrics of a pod; none if they cannot be read: many clusters have no metrics server, and no service depends on them.
async fn metrics(state: &RestState, account: &Account, object: &Manifest) -> Vec<ContainerMetrics> {
    if !account.metrics || !object.kind().is("pod") {
        return Vec::new();
    }
    let top = Top {
        kind: "pods".to_owned(),
        namespace: Some(object.namespace().to_owned()),
        name: Some(object.shown_name().to_owned()),
        label_selector: None,
        anywhere: read::is_outside(account, &object.coordinates()),
    };
    let answer = state.live.call(&account.name, Verb::Top(top), None, None).await;
    let list = answer.and_then(|answer| answer.json()).unwrap_or_default();
    let pods = list.get("items").and_then(Value::as_array).into_iter().flatten();
    pods.flat_map(ContainerMetrics::of_pod).collect()
}

/// The objects of a kind that belong to a cluster, live.
#[utoipa::path(
    get,
    path = "/manifests/{account}/{location}/{kind}/cluster/{app}/{cluster}",
    responses((status = 200), (status = 404), (status = 500, description = "The cluster could not be read"))
)]
async fn cluster(
    State(state): State<RestState>,
    Segments((account, location, kind, app, cluster)): Segments<(String, String, String, String, String)>,
) -> Result<Json<Vec<Coordinates>>, Error> {
    let objects = all(&state, &account, &location, &Kind::parse(&kind)).await?;
    Ok(Json(target::coordinates(&target::cluster(&objects, &app, &cluster))))
}

/// The newest, oldest, largest … object of a cluster, live.
#[utoipa::path(
    get,
    path = "/manifests/{account}/{location}/{kind}/cluster/{app}/{cluster}/dynamic/{criteria}",
    params(
        ("criteria" = String, Path, description = "`oldest`, `newest`, `second_newest`, `largest`, `smallest`")
    ),
    responses((status = 200), (status = 400), (status = 404), (status = 500, description = "The cluster could not be read"))
)]
async fn dynamic(
    State(state): State<RestState>,
    Segments((account, location, kind, app, cluster, criteria)): Segments<(
        String,
        String,
        String,
        String,
        String,
        String,
    )>,
    parameters: Parameters,
) -> Result<Json<Coordinates>, Error> {
    let Some(pick) = Criteria::parse(&criteria) else {
        return Err(Problem::mismatch("criteria", &criteria, parameters.path()).into());
    };
    let kind = &Kind::parse(&kind);
    let objects = all(&state, &account, &location, kind).await?;
    let picked = pick.pick(&target::cluster(&objects, &app, &cluster));
    let missing = Missing::Dynamic {
        account: &account,
        location: &location,
        kind,
        application: &app,
        cluster: &cluster,
        criteria: &criteria,
    };
    picked.map(|object| Json(object.coordinates())).ok_or_else(|| missing.into())
}

/// All objects of a kind. Where Clouddriver returns 200 with an empty body, which breaks Orca, this returns an error.
async fn all(state: &RestState, account: &str, location: &str, kind: &Kind) -> Result<Vec<Manifest>, Error> {
    let Some(account) = state.accounts.find(account).await? else {
        return Err(Missing::Account(account).into());
    };
    let location = if location == CLUSTER_SCOPED { "" } else { location };
    read::check_location(location)?;
    match read::list(&state.live, &account, kind, read::all(&account, kind, location)).await {
        Ok(objects) => Ok(objects),
        Err(error) if error.is_failure() && matches!(error.code, 400 | 404 | 405) => {
            Err(Refusal::not_found(error.message()).into())
        }
        Err(error) => Err(read::unreadable("manifests", &account, &error).into()),
    }
}
