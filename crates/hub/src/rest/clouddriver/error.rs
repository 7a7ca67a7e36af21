//! Errors in Clouddriver's own shape.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use spindrift_spinnaker::Refusal;
use tracing::error;

use crate::store::StoreError;

/// What a caller gets instead of an answer.
#[derive(Debug)]
pub(in crate::rest) struct Error(Refusal);

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl From<StoreError> for Error {
    /// The cause is for the log. It is always a 500: Orca would repeat a 503 of an operation until its stage times out.
    fn from(cause: StoreError) -> Self {
        error!(error = %spindrift_process::report(&cause), "a request failed");
        Self(Refusal::internal("the hub's store did not answer; its log says why"))
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(self.0.body(Timestamp::now()))).into_response()
    }
}
