//! Operations: what is to be done, checked at once and done later, by a task.

use axum::{Json, body::Body, extract::State};
use serde::de::DeserializeOwned;
use serde_json::Value;
use spindrift_spinnaker::{Problem, Refusal, Request, TaskReference};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    error::Error,
    request::{Parameters, Segments},
};
use crate::{
    clouddriver::{Caller, Rejected},
    rest::{RestState, body},
};

/// The largest request: more than any API server takes in one object, and than any database in one row.
const LARGEST_REQUEST: usize = 8 * 1024 * 1024;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
        .routes(routes!(submit))
        .routes(routes!(submit_one))
        .routes(routes!(submit_legacy))
        .routes(routes!(submit_one_legacy))
}

/// Does some operations, one after the other.
#[utoipa::path(
    post,
    path = "/{cloudProvider}/ops",
    params(("clientRequestId" = Option<String>, Query, description = "The caller's own id: what is asked again under it is not done again, and answered with the same task")),
    request_body(content = Vec<Object>, description = "Operations by name, such as `[{\"scaleManifest\": {\"account\": \"prod\", \"manifestName\": \"deployment web\", \"location\": \"shop\", \"replicas\": 3}}]`"),
    responses(
        (status = 200, description = "The task that does them: `id` and `resourceUri`"),
        (status = 400, description = "Nothing is done, and `message` and `errors` say why"),
        (status = 413, description = "The body is larger than any request that makes sense")
    )
)]
async fn submit(
    State(state): State<RestState>,
    Segments(provider): Segments<String>,
    parameters: Parameters,
    caller: Caller,
    body: Body,
) -> Result<Json<TaskReference>, Error> {
    let request = read(body, parameters.path()).await?;
    take_on(&state, &provider, request, &parameters, &caller).await
}

/// Does one operation.
#[utoipa::path(
    post,
    path = "/{cloudProvider}/ops/{name}",
    params(("name" = String, Path, description = "Of the operation, such as `scaleManifest`"), ("clientRequestId" = Option<String>, Query)),
    request_body(content = Object, description = "What the operation is asked with"),
    responses(
        (status = 200, description = "The task that does it: `id` and `resourceUri`"),
        (status = 400, description = "Nothing is done, and `message` and `errors` say why"),
        (status = 413, description = "The body is larger than any request that makes sense")
    )
)]
async fn submit_one(
    State(state): State<RestState>,
    Segments((provider, name)): Segments<(String, String)>,
    parameters: Parameters,
    caller: Caller,
    body: Body,
) -> Result<Json<TaskReference>, Error> {
    let request = Request::one(name, read_object(body, parameters.path()).await?);
    take_on(&state, &provider, request, &parameters, &caller).await
}

/// As `/{cloudProvider}/ops`; each operation says itself which provider is meant.
#[utoipa::path(
    post,
    path = "/ops",
    params(("clientRequestId" = Option<String>, Query)),
    request_body(content = Vec<Object>, description = "Operations by name, each with `cloudProvider`"),
    responses(
        (status = 200, description = "The task that does them: `id` and `resourceUri`"),
        (status = 400, description = "Nothing is done, and `message` and `errors` say why"),
        (status = 413, description = "The body is larger than any request that makes sense")
    )
)]
async fn submit_legacy(
    State(state): State<RestState>,
    parameters: Parameters,
    caller: Caller,
    body: Body,
) -> Result<Json<TaskReference>, Error> {
    let request = read(body, parameters.path()).await?;
    let provider = provider_of(&request)?;
    take_on(&state, &provider, request, &parameters, &caller).await
}

/// As `/{cloudProvider}/ops/{name}`; the operation says itself which provider is meant.
#[utoipa::path(
    post,
    path = "/ops/{name}",
    params(("name" = String, Path, description = "Of the operation, such as `scaleManifest`"), ("clientRequestId" = Option<String>, Query)),
    request_body(content = Object, description = "What the operation is asked with, and `cloudProvider`"),
    responses(
        (status = 200, description = "The task that does it: `id` and `resourceUri`"),
        (status = 400, description = "Nothing is done, and `message` and `errors` say why"),
        (status = 413, description = "The body is larger than any request that makes sense")
    )
)]
async fn submit_one_legacy(
    State(state): State<RestState>,
    Segments(name): Segments<String>,
    parameters: Parameters,
    caller: Caller,
    body: Body,
) -> Result<Json<TaskReference>, Error> {
    let request = Request::one(name, read_object(body, parameters.path()).await?);
    let provider = provider_of(&request)?;
    take_on(&state, &provider, request, &parameters, &caller).await
}

async fn take_on(
    state: &RestState,
    provider: &str,
    request: Request,
    parameters: &Parameters,
    caller: &Caller,
) -> Result<Json<TaskReference>, Error> {
    let client_request = parameters.word("clientRequestId");
    Ok(Json(state.tasks.submit(provider, request, client_request, caller).await?))
}

/// The provider that all operations of a request name.
fn provider_of(request: &Request) -> Result<String, Refusal> {
    let mut all = request.providers();
    let first = all.next().unwrap_or(Some("kubernetes"));
    let first =
        first.ok_or_else(|| Refusal::illegal_argument("cloudProvider: expected the name of a provider"))?;
    if all.any(|other| other != Some(first)) {
        return Err(Refusal::illegal_argument("cloudProvider: expected the same provider in all operations"));
    }
    Ok(first.to_owned())
}

/// The body as what it should be.
pub(super) async fn read<T: DeserializeOwned>(body: Body, path: &str) -> Result<T, Error> {
    let body = body::read(body, LARGEST_REQUEST).await.map_err(|unread| Error::unread(unread, path))?;
    serde_json::from_slice(&body).map_err(|_| Problem::unreadable_body(path).into())
}

async fn read_object(body: Body, path: &str) -> Result<Value, Error> {
    let value: Value = read(body, path).await?;
    if value.is_object() { Ok(value) } else { Err(Problem::unreadable_body(path).into()) }
}

impl From<Rejected> for Error {
    fn from(rejected: Rejected) -> Self {
        match rejected {
            Rejected::Refused(refusal) => refusal.into(),
            Rejected::Store(error) => error.into(),
        }
    }
}
