//! Operations of agents: requests, progress and outcomes.

pub(super) mod ask;
pub(super) mod examples;
mod view;

use axum::{
    Json,
    body::Body,
    extract::State,
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures::{StreamExt, stream};
use serde::Deserialize;
use spindrift_model::{AccountName, OperationId};
use spindrift_process::report;
use utoipa::IntoParams;

pub(super) use view::Operation;

use super::{
    RestState,
    error::{Error, Path, Query},
};
use crate::store::{OperationQuery, OperationRow, OperationState, StoreError};

/// Header with the id of an operation.
pub(super) const OPERATION_HEADER: HeaderName = HeaderName::from_static("spindrift-operation");

const DEFAULT_LIMIT: u32 = 100;
const LARGEST_LIMIT: u32 = 1000;

/// Which operations.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OperationsQuery {
    /// Of this account only.
    account: Option<String>,
    /// In this state only: `queued`, `sent`, `completed`, `failed`, `unknown`, `cancelled` or `expired`.
    state: Option<String>,
    /// The latest so many, 1 to 1000; 100 if absent.
    limit: Option<u32>,
}

/// Operations, the latest first.
#[utoipa::path(
    get,
    path = "/v1/operations",
    params(OperationsQuery),
    responses((status = 200, body = Vec<Operation>), (status = 400, body = super::error::ErrorBody))
)]
pub(super) async fn list(
    State(state): State<RestState>,
    Query(selection): Query<OperationsQuery>,
) -> Result<Json<Vec<Operation>>, Error> {
    let limit = selection.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=LARGEST_LIMIT).contains(&limit) {
        let expected = format_args!("expected 1 to {LARGEST_LIMIT}, found {limit}");
        return Err(Error::bad_request("limit", expected));
    }
    let account = selection.account.as_deref().map(AccountName::parse).transpose();
    let account = account.map_err(|invalid| Error::bad_request("account", invalid))?;
    let word = selection.state.as_deref();
    let of_state = word.map(|word| {
        let expected = "expected queued, sent, completed, failed, unknown, cancelled or expired";
        OperationState::parse(word).ok_or_else(|| Error::bad_request("state", expected))
    });
    let query = OperationQuery { account, state: of_state.transpose()?, limit, offset: 0 };
    state.dispatch.written().await;
    let rows = state.store.operations(&state.tenant, &query).await?;
    Ok(Json(rows.into_iter().map(Operation::from).collect()))
}

/// One operation.
#[utoipa::path(
    get,
    path = "/v1/operations/{id}",
    params(("id" = String, Path, description = "The id of an operation")),
    responses((status = 200, body = Operation), (status = 404, body = super::error::ErrorBody))
)]
pub(super) async fn get(
    State(state): State<RestState>,
    Path(id): Path<String>,
) -> Result<Json<Operation>, Error> {
    find(&state, &id).await.map(Operation::from).map(Json)
}

/// The stored answer of an operation whose caller did not wait for it.
#[utoipa::path(
    get,
    path = "/v1/operations/{id}/result",
    params(("id" = String, Path, description = "The id of an operation")),
    responses((status = 200, description = "The verb's answer"), (status = 404, body = super::error::ErrorBody))
)]
pub(super) async fn result(
    State(state): State<RestState>,
    Path(id): Path<String>,
) -> Result<Response, Error> {
    let row = find(&state, &id).await?;
    if row.answer_bytes.is_none() || row.ended_at.is_none() {
        return Err(Error::not_found(format!("operation {id} has no answer that is kept")));
    }
    let dispatch = state.dispatch.clone();
    let pages = stream::unfold(Some(0), move |from| {
        let (dispatch, id) = (dispatch.clone(), row.id);
        async move {
            let pieces = match dispatch.stored(id, from?).await {
                Ok(pieces) if pieces.is_empty() => return None,
                Ok(pieces) => pieces,
                Err(error) => {
                    tracing::error!(operation = %id, error = %report(&error), "an answer could not be read");
                    return Some((vec![Err(error)], None));
                }
            };
            let next = from.map(|from| from + pieces.iter().map(|piece| piece.len() as u64).sum::<u64>());
            Some((pieces.into_iter().map(Ok::<_, StoreError>).collect(), next))
        }
    });
    let body = Body::from_stream(pages.flat_map(stream::iter));
    let headers = [(header::CONTENT_TYPE, row.content.media_type())];
    Ok((headers, [(OPERATION_HEADER, row.id.to_string())], body).into_response())
}

/// Cancels an operation. A change may be past cancellation: see its state.
#[utoipa::path(
    delete,
    path = "/v1/operations/{id}",
    params(("id" = String, Path, description = "The id of an operation")),
    responses((status = 202, body = Operation), (status = 200, body = Operation), (status = 404, body = super::error::ErrorBody))
)]
pub(super) async fn cancel(
    State(state): State<RestState>,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<Operation>), Error> {
    let row = find(&state, &id).await?;
    let open = state.dispatch.cancel(row.id).await?;
    let row = find(&state, &id).await?;
    let status = if open { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, Json(row.into())))
}

pub(super) async fn find(state: &RestState, id: &str) -> Result<OperationRow, Error> {
    let parsed: OperationId = id.parse().map_err(|invalid| Error::bad_request("id", invalid))?;
    state.dispatch.written().await;
    let row = state.store.operation(&state.tenant, parsed).await?;
    row.ok_or_else(|| Error::not_found(format!("there is no operation {id}")))
}
