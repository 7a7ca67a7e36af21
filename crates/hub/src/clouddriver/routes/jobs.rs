//! Jobs, which Orca polls, and the properties that their containers print.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value};
use spindrift_model::{Logs, OperationError};
use spindrift_spinnaker::{
    Coordinates, FullName, Kind, Manifest, Missing, Refusal,
    view::{JobView, properties},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{error::Error, read, request::Segments};
use crate::{
    clouddriver::{Account, object_ref::object_ref},
    rest::RestState,
};

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new().routes(routes!(job, cancel)).routes(routes!(job_file)).routes(routes!(pod_file))
}

/// A job and its pods, live.
#[utoipa::path(
    get,
    path = "/applications/{application}/jobs/{account}/{location}/{id}",
    params(
        ("id" = String, Path, description = "`job <name>`")
    ),
    responses((status = 200), (status = 404), (status = 500, description = "The cluster could not be read"))
)]
async fn job(
    State(state): State<RestState>,
    Segments((_application, account, location, id)): Segments<(String, String, String, String)>,
) -> Result<Response, Error> {
    let missing = || Error::from(Missing::Job { account: &account, location: &location, id: &id });
    let Some(found) = state.accounts.find(&account).await? else { return Err(missing()) };
    let Some(object) = named_job(&id, &location) else { return Err(missing()) };
    let job = read::find(&state.live, &found, &object).await?.ok_or_else(missing)?;
    let pods = pods(&state, &found, &job).await;
    let pods = pods.map_err(|error| read::unreadable("pods", &found, &error))?;
    let view = JobView::new(&account, &job, &pods).map_err(|_| missing())?;
    let view = if state.detailed_pod_status { view } else { view.without_pods() };
    Ok(Json(view).into_response())
}

/// Pods that the job's selector matches.
async fn pods(state: &RestState, account: &Account, job: &Manifest) -> Result<Vec<Manifest>, OperationError> {
    let labels = job.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let label = |(key, value): (&String, &Value)| Some(format!("{key}={}", value.as_str()?));
    let selector: Vec<_> = labels.into_iter().flatten().filter_map(label).collect();
    if selector.is_empty() {
        return Ok(Vec::new());
    }
    let kind = &Kind::parse("pod");
    let mut list = read::all(account, kind, job.namespace());
    list.label_selector = Some(selector.join(","));
    read::list(&state.live, account, kind, list).await
}

/// Not for Kubernetes: a job is cancelled by deleting it.
#[utoipa::path(
    delete,
    path = "/applications/{application}/jobs/{account}/{location}/{id}",
    responses((status = 400))
)]
async fn cancel() -> Error {
    Refusal::not_implemented("cancelJob is not implemented for the Kubernetes provider").into()
}

/// The properties that a container of a job printed, live.
#[utoipa::path(
    get,
    path = "/applications/{application}/jobs/{account}/{location}/{id}/{fileName}",
    params(
        ("id" = String, Path, description = "`job <name>`"),
        ("fileName" = String, Path, description = "The container")
    ),
    responses((status = 200), (status = 500, description = "The cluster could not be read"))
)]
async fn job_file(
    State(state): State<RestState>,
    Segments((_application, account, location, id, container)): Segments<(
        String,
        String,
        String,
        String,
        String,
    )>,
) -> Result<Json<Map<String, Value>>, Error> {
    match named_job(&id, &location) {
        Some(job) => printed(&state, &account, &job, container).await,
        None => Ok(Json::default()),
    }
}

/// The properties that a container of a pod printed, live.
#[utoipa::path(
    get,
    path = "/applications/{application}/kubernetes/pods/{account}/{namespace}/{podName}/{fileName}",
    params(
        ("fileName" = String, Path, description = "The container")
    ),
    responses((status = 200), (status = 500, description = "The cluster could not be read"))
)]
async fn pod_file(
    State(state): State<RestState>,
    Segments((_application, account, namespace, pod, container)): Segments<(
        String,
        String,
        String,
        String,
        String,
    )>,
) -> Result<Json<Map<String, Value>>, Error> {
    let pod = Coordinates::new(Kind::parse("pod"), namespace, pod);
    printed(&state, &account, &pod, container).await
}

fn named_job(id: &str, location: &str) -> Option<Coordinates> {
    FullName::parse(id).ok().filter(|name| name.kind.is("job")).map(|name| name.at(location))
}

/// Properties in a container's log; empty if the object is missing. A cluster that cannot be read is an error: Orca would
/// continue without the properties.
async fn printed(
    state: &RestState,
    account: &str,
    object: &Coordinates,
    container: String,
) -> Result<Json<Map<String, Value>>, Error> {
    read::check_path(object)?;
    let Some(account) = state.accounts.find(account).await? else { return Ok(Json::default()) };
    match state.live.logs(&account.name, whole_log(&account, object, container)).await {
        Ok(log) => Ok(Json(properties(&log))),
        Err(error) if error.is_failure() && (400..500).contains(&error.code) => Ok(Json::default()),
        Err(error) => Err(read::unreadable("log", &account, &error).into()),
    }
}

/// Request for the whole log of a container, up to a size that fits into memory.
pub(super) fn whole_log(account: &Account, object: &Coordinates, container: String) -> Logs {
    Logs {
        target: object_ref(object),
        container: Some(container),
        previous: false,
        follow: false,
        tail_lines: None,
        since_seconds: None,
        since_time: None,
        timestamps: false,
        limit_bytes: Some(LONGEST_LOG),
        anywhere: read::is_outside(account, object),
    }
}

/// Size of a log; kubelets keep 10 MiB per container by default.
const LONGEST_LOG: u64 = 64 * 1024 * 1024;
