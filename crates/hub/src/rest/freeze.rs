//! Freezing an account: nothing may be changed in it, reads go on.

use axum::{body::Body, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use spindrift_model::AccountName;
use tracing::info;
use utoipa::ToSchema;

use super::{
    RestState, body,
    error::{Error, Path},
};
use crate::store::Freeze;

/// Largest length of a reason, which people read.
const LONGEST: usize = 4096;

/// Why an account is frozen.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Reason {
    /// Shown to callers that try to change something.
    reason: String,
}

/// That an account is frozen.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Frozen {
    reason: String,
    since: String,
}

/// Forbids changes in the account; running operations end.
#[utoipa::path(
    put,
    path = "/v1/accounts/{account}/freeze",
    request_body = Reason,
    responses((status = 204), (status = 404, body = super::error::ErrorBody))
)]
pub(super) async fn freeze(
    State(state): State<RestState>,
    Path(account): Path<String>,
    body: Body,
) -> Result<StatusCode, Error> {
    let account = known(&state, &account).await?;
    let Reason { reason } = Reason::read(body).await?;
    state.store.freeze(&state.tenant, &account, &reason).await?;
    info!(%account, reason, "account frozen");
    Ok(StatusCode::NO_CONTENT)
}

/// Lets things be changed again.
#[utoipa::path(
    delete,
    path = "/v1/accounts/{account}/freeze",
    responses((status = 204), (status = 404, body = super::error::ErrorBody))
)]
pub(super) async fn unfreeze(
    State(state): State<RestState>,
    Path(account): Path<String>,
) -> Result<StatusCode, Error> {
    let account = known(&state, &account).await?;
    if state.store.unfreeze(&state.tenant, &account).await? {
        info!(%account, "account unfrozen");
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn known(state: &RestState, account: &str) -> Result<AccountName, Error> {
    let name = AccountName::parse(account).map_err(|invalid| Error::bad_request("account", invalid))?;
    let row = state.store.account(&state.tenant, &name).await?;
    row.map(|_| name).ok_or_else(|| Error::not_found(format!("there is no account {account}")))
}

// === impl Reason ===

impl Reason {
    /// No body is no reason.
    async fn read(body: Body) -> Result<Self, Error> {
        let body = body::read(body, 2 * LONGEST).await?;
        if body.is_empty() {
            return Ok(Self::default());
        }
        let read: Self = serde_json::from_slice(&body).map_err(|error| Error::bad_request("body", error))?;
        if read.reason.len() > LONGEST || read.reason.contains('\0') {
            let expected = format_args!("expected at most {LONGEST} bytes, and no null character");
            return Err(Error::bad_request("reason", expected));
        }
        Ok(read)
    }
}

// === impl Frozen ===

impl From<Freeze> for Frozen {
    fn from(Freeze { reason, at }: Freeze) -> Self {
        Self { reason, since: at.to_string() }
    }
}
