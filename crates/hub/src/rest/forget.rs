//! Forgetting an account that no agent serves any more: taken off its agents, or moved to another hub or Clouddriver.

use axum::{extract::State, http::StatusCode};
use spindrift_model::AccountName;
use tracing::info;

use super::{
    ALIVE, RestState,
    error::{Error, Path},
};
use crate::store::Forgotten;

/// Removes the account and all that is cached of it. Should an agent announce it again, it is there again.
#[utoipa::path(
    delete,
    path = "/v1/accounts/{account}",
    responses(
        (status = 204),
        (status = 404, body = super::error::ErrorBody),
        (status = 409, body = super::error::ErrorBody, description = "An agent serves it")
    )
)]
pub(super) async fn forget(
    State(state): State<RestState>,
    Path(account): Path<String>,
) -> Result<StatusCode, Error> {
    let name = AccountName::parse(&account).map_err(|invalid| Error::bad_request("account", invalid))?;
    match state.store.forget_unserved(&state.tenant, &name, ALIVE).await? {
        Forgotten::Done => {
            state.accounts.invalidate().await;
            info!(%account, "account forgotten");
            Ok(StatusCode::NO_CONTENT)
        }
        Forgotten::Unknown => Err(Error::not_found(format!("there is no account {account}"))),
        Forgotten::Served { agent } => Err(Error::conflict(format!(
            "agent {agent} serves account {account}; take it off the agent's configuration first"
        ))),
    }
}
