//! Operations: validated at once, and run by a task.

use axum::{
    Json,
    body::Body,
    extract::{FromRequest, FromRequestParts, State},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use spindrift_spinnaker::{Problem, Refusal, TaskReference, TaskRequest};
use utoipa::IntoResponses;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    error::Error,
    request::{Parameters, Segments},
};
use crate::{
    clouddriver::{Caller, Rejected},
    rest::{RestState, body},
};

/// Size of a request: more than an API server accepts in one object, or a database in one row.
const LARGEST_REQUEST: usize = 8 * 1024 * 1024;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
        .routes(routes!(submit))
        .routes(routes!(submit_one))
        .routes(routes!(submit_legacy))
        .routes(routes!(submit_one_legacy))
}

/// Operations of a request, not parsed yet, and its sender.
struct Submitted {
    parameters: Parameters,
    caller: Caller,
    body: Body,
}

#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes the responses in /openapi.json")]
enum SubmitResponses {
    /// Task that runs the operations: `id` and `resourceUri`
    #[response(status = 200)]
    Accepted,
    /// Nothing is done; `message` and `errors` say why
    #[response(status = 400)]
    Invalid,
    /// The body is larger than the largest request that the hub accepts
    #[response(status = 413)]
    TooLarge,
}

/// Runs operations, one after the other.
#[utoipa::path(
    post,
    path = "/{cloudProvider}/ops",
    params(("clientRequestId" = Option<String>, Query, description = "Id chosen by the caller: a second request with it starts nothing and returns the task of the first")),
    request_body(content = Vec<Object>, description = "Operations by name, such as `[{\"scaleManifest\": {\"account\": \"prod\", \"manifestName\": \"deployment web\", \"location\": \"shop\", \"replicas\": 3}}]`"),
    responses(SubmitResponses)
)]
async fn submit(
    State(state): State<RestState>,
    Segments(provider): Segments<String>,
    submitted: Submitted,
) -> Result<Json<TaskReference>, Error> {
    submitted.submit(&state, Some(provider), None).await
}

/// Runs one operation.
#[utoipa::path(
    post,
    path = "/{cloudProvider}/ops/{name}",
    params(("name" = String, Path, description = "Name of the operation, such as `scaleManifest`"), ("clientRequestId" = Option<String>, Query)),
    request_body(content = Object, description = "Description of the operation"),
    responses(SubmitResponses)
)]
async fn submit_one(
    State(state): State<RestState>,
    Segments((provider, name)): Segments<(String, String)>,
    submitted: Submitted,
) -> Result<Json<TaskReference>, Error> {
    submitted.submit(&state, Some(provider), Some(name)).await
}

/// Same as `/{cloudProvider}/ops`; each operation names its provider.
#[utoipa::path(
    post,
    path = "/ops",
    params(("clientRequestId" = Option<String>, Query)),
    request_body(content = Vec<Object>, description = "Operations by name, each with `cloudProvider`"),
    responses(SubmitResponses)
)]
async fn submit_legacy(
    State(state): State<RestState>,
    submitted: Submitted,
) -> Result<Json<TaskReference>, Error> {
    submitted.submit(&state, None, None).await
}

/// Same as `/{cloudProvider}/ops/{name}`; the operation names its provider.
#[utoipa::path(
    post,
    path = "/ops/{name}",
    params(("name" = String, Path, description = "Name of the operation, such as `scaleManifest`"), ("clientRequestId" = Option<String>, Query)),
    request_body(content = Object, description = "Description of the operation, with `cloudProvider`"),
    responses(SubmitResponses)
)]
async fn submit_one_legacy(
    State(state): State<RestState>,
    Segments(name): Segments<String>,
    submitted: Submitted,
) -> Result<Json<TaskReference>, Error> {
    submitted.submit(&state, None, Some(name)).await
}

// === impl Submitted ===

impl<S: Send + Sync> FromRequest<S> for Submitted {
    type Rejection = Error;

    async fn from_request(request: axum::extract::Request, state: &S) -> Result<Self, Error> {
        let (mut parts, body) = request.into_parts();
        let parameters = Parameters::from_request_parts(&mut parts, state).await?;
        Ok(Self { parameters, caller: Caller::of(&parts.headers), body })
    }
}

impl Submitted {
    /// Starts the task: of the operations in the body, or of the one that `name` names. Without `provider`, the
    /// operations name it.
    async fn submit(
        self,
        state: &RestState,
        provider: Option<String>,
        name: Option<String>,
    ) -> Result<Json<TaskReference>, Error> {
        let Self { parameters, caller, body } = self;
        let request = match name {
            None => read(body, parameters.path()).await?,
            Some(name) => TaskRequest::one(name, read_object(body, parameters.path()).await?),
        };
        let provider = provider.map_or_else(|| provider_of(&request), Ok)?;
        let client_request = parameters.word("clientRequestId");
        Ok(Json(state.tasks.submit(&provider, request, client_request, &caller).await?))
    }
}

/// Provider that all operations of a request name.
fn provider_of(request: &TaskRequest) -> Result<String, Refusal> {
    let mut all = request.providers();
    let first = all.next().unwrap_or(Some("kubernetes"));
    let first =
        first.ok_or_else(|| Refusal::illegal_argument("cloudProvider: expected the name of a provider"))?;
    if all.any(|other| other != Some(first)) {
        return Err(Refusal::illegal_argument("cloudProvider: expected the same provider in all operations"));
    }
    Ok(first.to_owned())
}

/// Parses a JSON body.
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
