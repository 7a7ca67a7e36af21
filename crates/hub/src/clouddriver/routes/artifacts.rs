//! Artifacts: files that pipelines refer to, fetched for Orca and Rosco.

use axum::{
    Json,
    body::Body,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use spindrift_spinnaker::{Artifact, Problem, Refusal};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    error::Error,
    request::{Parameters, Segments},
};
use crate::{
    clouddriver::Fetched,
    rest::{RestState, body},
};

/// Size of a request, with its embedded artifact; Orca's own limit.
const LARGEST_REQUEST: usize = 16 * 1024 * 1024;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
        .routes(routes!(credentials))
        .routes(routes!(fetch))
        .routes(routes!(names))
        .routes(routes!(versions))
        .routes(routes!(by_content))
}

/// The artifact accounts.
#[utoipa::path(get, path = "/artifacts/credentials", responses((status = 200)))]
async fn credentials(State(state): State<RestState>) -> Response {
    Json(state.artifacts.accounts()).into_response()
}

/// The bytes of an artifact.
#[utoipa::path(
    put,
    path = "/artifacts/fetch",
    request_body(content = Object, description = "An artifact: `type`, `artifactAccount`, `reference`, `name`, `version`"),
    responses(
        (status = 200, description = "Its bytes"),
        (status = 400),
        (status = 404, description = "No such account, or no such artifact"),
        (status = 502, description = "The server of the artifact failed"),
        (status = 504, description = "The download took too long")
    )
)]
async fn fetch(
    State(state): State<RestState>,
    parameters: Parameters,
    body: Body,
) -> Result<Response, Error> {
    let unread = |unread| Error::unread(unread, parameters.path());
    let body = body::read(body, LARGEST_REQUEST).await.map_err(unread)?;
    let artifact: Artifact =
        serde_json::from_slice(&body).map_err(|_| Problem::unreadable_body(parameters.path()))?;
    let Some(name) = artifact.artifact_account.as_deref().filter(|name| !name.is_empty()) else {
        let name = artifact.name.as_deref().unwrap_or("null");
        let message = format!("An artifact account must be supplied to download this artifact: {name}");
        return Err(Refusal::illegal_argument(message).into());
    };
    let r#type = artifact.r#type.as_deref().unwrap_or_default();
    let Some(account) = state.artifacts.find(name, r#type) else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    let body = match state.artifacts.fetch(account, &artifact).await? {
        Fetched::Whole(bytes) => Body::from(bytes),
        Fetched::Streamed(body) => body,
    };
    // Without a content type, which only the pipeline knows.
    Ok(Response::new(body))
}

/// The names of the artifacts of an account.
#[utoipa::path(
    get,
    path = "/artifacts/account/{account}/names",
    params(("type" = String, Query)),
    responses((status = 200), (status = 400), (status = 404), (status = 502))
)]
async fn names(
    State(state): State<RestState>,
    Segments(account): Segments<String>,
    parameters: Parameters,
) -> Result<Response, Error> {
    let Some(account) = state.artifacts.find(&account, parameters.required("type")?) else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    Ok(Json(state.artifacts.names(account).await?).into_response())
}

/// The versions of an artifact.
#[utoipa::path(
    get,
    path = "/artifacts/account/{account}/versions",
    params(("type" = String, Query), ("artifactName" = String, Query)),
    responses((status = 200), (status = 400), (status = 404), (status = 502))
)]
async fn versions(
    State(state): State<RestState>,
    Segments(account): Segments<String>,
    parameters: Parameters,
) -> Result<Response, Error> {
    let (r#type, name) = (parameters.required("type")?, parameters.required("artifactName")?);
    let Some(account) = state.artifacts.find(&account, r#type) else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    Ok(Json(state.artifacts.versions(account, name).await?).into_response())
}

/// An artifact by its hash: not supported, since the hub has no artifact store.
#[utoipa::path(
    get,
    path = "/artifacts/content-address/{application}/{hash}",
    responses((status = 404))
)]
async fn by_content(Segments((application, hash)): Segments<(String, String)>) -> Error {
    let message = format!(
        "unable to retrieve artifact ref://{application}/{hash} since there's no artifact store getter configured"
    );
    Refusal::not_found(message).into()
}
