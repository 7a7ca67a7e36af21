//! Accounts: `/credentials`. Gate and Fiat poll them and base authorization on them.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};
use spindrift_spinnaker::{
    Missing, Refusal,
    view::{AccountDetails, AccountView},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    error::Error,
    request::{Parameters, Segments},
};
use crate::rest::RestState;

pub(super) fn routes() -> OpenApiRouter<RestState> {
    OpenApiRouter::new()
        .routes(routes!(list, create, save))
        .routes(routes!(account, update, delete))
        .routes(routes!(authorized))
        .routes(routes!(history))
        .routes(routes!(definitions))
}

/// All accounts.
#[utoipa::path(
    get,
    path = "/credentials",
    params(("expand" = Option<bool>, Query, description = "With all details; false if absent")),
    responses((status = 200), (status = 400))
)]
async fn list(State(state): State<RestState>, parameters: Parameters) -> Result<Response, Error> {
    let expand = parameters.flag("expand", false)?;
    let accounts = state.accounts.all().await?;
    let (settings, marks) = (accounts.iter().map(|account| &account.settings), &*state.marks);
    Ok(if expand {
        Json(settings.map(|settings| AccountDetails::new(settings, marks)).collect::<Vec<_>>())
            .into_response()
    } else {
        Json(settings.map(|settings| AccountView::new(settings, marks)).collect::<Vec<_>>()).into_response()
    })
}

/// One account.
#[utoipa::path(
    get,
    path = "/credentials/{account}",
    responses((status = 200), (status = 404))
)]
async fn account(
    State(state): State<RestState>,
    Segments(account): Segments<String>,
) -> Result<Response, Error> {
    let Some(found) = state.accounts.find(&account).await? else {
        return Err(Missing::Account(&account).into());
    };
    Ok(Json(AccountDetails::new(&found.settings, &state.marks)).into_response())
}

/// One account, for callers that may change it: without Fiat, every caller.
#[utoipa::path(
    get,
    path = "/credentials/{account}/authorized",
    responses((status = 200), (status = 404))
)]
async fn authorized(state: State<RestState>, name: Segments<String>) -> Result<Response, Error> {
    account(state, name).await
}

/// Not supported: agents announce accounts, and the hub has no definitions of them.
#[utoipa::path(get, path = "/credentials/type/{type}", responses((status = 400)))]
async fn definitions() -> Error {
    Refusal::no_account_definitions().into()
}

/// Not supported: the hub has no account definitions.
#[utoipa::path(
    get,
    path = "/credentials/{account}/history",
    responses((status = 400))
)]
async fn history() -> Error {
    Refusal::no_account_definitions().into()
}

/// Not supported: the hub has no account definitions.
#[utoipa::path(post, path = "/credentials", responses((status = 400)))]
async fn create() -> Error {
    Refusal::no_account_definitions().into()
}

/// Not supported: the hub has no account definitions.
#[utoipa::path(put, path = "/credentials", responses((status = 400)))]
async fn save() -> Error {
    Refusal::no_account_definitions().into()
}

/// Not supported: the hub has no account definitions.
#[utoipa::path(put, path = "/credentials/{account}", responses((status = 400)))]
async fn update() -> Error {
    Refusal::no_account_definitions().into()
}

/// Not supported: the hub has no account definitions.
#[utoipa::path(delete, path = "/credentials/{account}", responses((status = 400)))]
async fn delete() -> Error {
    Refusal::no_account_definitions().into()
}
