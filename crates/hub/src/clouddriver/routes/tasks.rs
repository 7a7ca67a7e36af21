//! Tasks: how far operations are, and what came of them.

use axum::{Json, body::Body, extract::State, http::Uri};
use serde::Deserialize;
use serde_json::Value;
use spindrift_spinnaker::{Problem, Task, TaskError, TaskOwner, TaskReference};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{error::Error, operations::read, request::Segments};
use crate::{
    clouddriver::{Caller, Rejected},
    rest::RestState,
};

/// The one provider whose tasks there are.
const PROVIDER: &str = "kubernetes";

/// What ends the id of a task that is to be resumed.
const RESUME: &str = ":resume";

/// What may be changed of a task.
#[derive(Debug, Deserialize)]
struct Change {
    retry: Option<Value>,
}

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get, resume))
        .routes(routes!(change))
        .routes(routes!(restart))
        .routes(routes!(owner))
}

/// The tasks that have not ended.
#[utoipa::path(get, path = "/task", responses((status = 200, description = "Tasks, the oldest first")))]
async fn list(State(state): State<RestState>) -> Result<Json<Vec<Task>>, Error> {
    Ok(Json(state.tasks.running().await?))
}

/// One task: its state, its history, and what it leaves behind.
#[utoipa::path(
    get,
    path = "/task/{id}",
    responses((status = 200, description = "The task"), (status = 404, description = "There is no such task"))
)]
async fn get(State(state): State<RestState>, Segments(id): Segments<String>) -> Result<Json<Task>, Error> {
    Ok(Json(state.tasks.find(&id).await?))
}

/// Resumes a saga, of which no operation of Kubernetes is one: always refused.
#[utoipa::path(
    post,
    path = "/task/{id}",
    params(("id" = String, Path, description = "The id of a task, and `:resume` behind it")),
    responses(
        (status = 404, description = "There is no such task"),
        (status = 500, description = "The task cannot be tried again, or has no saga that could be resumed")
    )
)]
async fn resume(
    State(state): State<RestState>,
    Segments(id): Segments<String>,
    uri: Uri,
) -> Result<Json<TaskReference>, Error> {
    let id = id.strip_suffix(RESUME).ok_or_else(|| Problem::wrong_method("POST", uri.path()))?;
    Ok(Json(state.tasks.resume(id).await?))
}

/// Gives a task up that has not ended: it has failed then, whatever it is doing.
#[utoipa::path(
    patch,
    path = "/{cloudProvider}/task/{id}",
    request_body(content = Object, description = "`{\"retry\": true}` if it may be asked for again"),
    responses(
        (status = 200, description = "The task: `id` and `resourceUri`"),
        (status = 404, description = "There is no such task"),
        (status = 500, description = "The task has ended, or the body does not say what to change; Clouddriver answers so")
    )
)]
async fn change(
    State(state): State<RestState>,
    Segments((provider, id)): Segments<(String, String)>,
    uri: Uri,
    body: Body,
) -> Result<Json<TaskReference>, Error> {
    let change: Change = read(body, uri.path()).await?;
    of_kubernetes(&provider, &id)?;
    let retry = match change.retry {
        Some(Value::Bool(retry)) => retry,
        Some(Value::String(word)) => word.eq_ignore_ascii_case("true"),
        _ => {
            state.tasks.find(&id).await?;
            return Err(Rejected::from(TaskError::NotPatchable(id)).into());
        }
    };
    Ok(Json(state.tasks.give_up(&id, retry).await?))
}

/// Asks again for what a task was to do that was given up and may be tried again.
#[utoipa::path(
    post,
    path = "/{cloudProvider}/task/{id}/restart",
    request_body(content = Vec<Object>, description = "The same operations as before"),
    responses(
        (status = 200, description = "The new task: `id` and `resourceUri`"),
        (status = 400, description = "Nothing is done, and `message` and `errors` say why"),
        (status = 404, description = "There is no such task"),
        (status = 500, description = "The task cannot be tried again; Clouddriver answers so")
    )
)]
async fn restart(
    State(state): State<RestState>,
    Segments((provider, id)): Segments<(String, String)>,
    uri: Uri,
    caller: Caller,
    body: Body,
) -> Result<Json<TaskReference>, Error> {
    let request = read(body, uri.path()).await?;
    of_kubernetes(&provider, &id)?;
    Ok(Json(state.tasks.restart(&id, &provider, request, &caller).await?))
}

/// The hub that runs a task, or ran it last.
#[utoipa::path(
    get,
    path = "/{cloudProvider}/task/{id}/owner",
    responses((status = 200, description = "Its name"), (status = 404, description = "There is no such task"))
)]
async fn owner(
    State(state): State<RestState>,
    Segments((provider, id)): Segments<(String, String)>,
) -> Result<Json<TaskOwner>, Error> {
    of_kubernetes(&provider, &id)?;
    let task = state.tasks.find(&id).await?;
    Ok(Json(TaskOwner::new(&task.owner_id)))
}

/// Tasks of other providers there are none.
fn of_kubernetes(provider: &str, id: &str) -> Result<(), Rejected> {
    if provider == PROVIDER { Ok(()) } else { Err(TaskError::NotFound(id.to_owned()).into()) }
}
