//! Tasks: state and results of operations.

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

/// The only provider with tasks.
const PROVIDER: &str = "kubernetes";

/// Suffix of the id of a task to resume.
const RESUME: &str = ":resume";

/// Body of a change of a task.
#[derive(Debug, Deserialize)]
struct TaskChange {
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

/// One task: its state, history and results.
#[utoipa::path(
    get,
    path = "/task/{id}",
    responses((status = 200, description = "The task"), (status = 404, description = "There is no such task"))
)]
async fn get(State(state): State<RestState>, Segments(id): Segments<String>) -> Result<Json<Task>, Error> {
    Ok(Json(state.tasks.find(&id).await?))
}

/// Resumes a saga. No Kubernetes operation is one, so that this always fails.
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

/// Marks a running task as failed, whatever it is doing.
#[utoipa::path(
    patch,
    path = "/{cloudProvider}/task/{id}",
    request_body(content = Object, description = "`{\"retry\": true}` if it may be restarted"),
    responses(
        (status = 200, description = "The task: `id` and `resourceUri`"),
        (status = 404, description = "There is no such task"),
        (status = 500, description = "The task has ended, or the body is no change; same status as Clouddriver")
    )
)]
async fn change(
    State(state): State<RestState>,
    Segments((provider, id)): Segments<(String, String)>,
    uri: Uri,
    body: Body,
) -> Result<Json<TaskReference>, Error> {
    let change: TaskChange = read(body, uri.path()).await?;
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

/// Restarts a task that was marked as failed and may be restarted.
#[utoipa::path(
    post,
    path = "/{cloudProvider}/task/{id}/restart",
    request_body(content = Vec<Object>, description = "The same operations as before"),
    responses(
        (status = 200, description = "The new task: `id` and `resourceUri`"),
        (status = 400, description = "Nothing is done; `message` and `errors` say why"),
        (status = 404, description = "There is no such task"),
        (status = 500, description = "The task cannot be restarted; same status as Clouddriver")
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

/// 404 for tasks of other providers.
fn of_kubernetes(provider: &str, id: &str) -> Result<(), Rejected> {
    if provider == PROVIDER { Ok(()) } else { Err(TaskError::NotFound(id.to_owned()).into()) }
}
