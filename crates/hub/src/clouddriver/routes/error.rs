//! Errors in Clouddriver's own shape, and in that of its web framework.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use spindrift_spinnaker::{Missing, Problem, Refusal};
use tracing::error;

use crate::{rest::body::Unread, store::StoreError};

/// What a caller gets instead of an answer.
#[derive(Debug)]
pub(crate) enum Error {
    /// In Clouddriver's own words.
    Refused(Refusal),
    /// In those of the framework: the request itself makes no sense.
    Problem(Problem),
}

/// What is said of a store that failed.
pub(super) const STORE_IS_AWAY: &str = "the hub's store did not answer; its log says why";

const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

// === impl Error ===

impl Error {
    /// The body of a request to this path was not read.
    pub(crate) fn unread(why: Unread, path: &str) -> Self {
        match why {
            Unread::TooLarge(most) => Refusal::too_large(most).into(),
            Unread::BrokenOff => Problem::unreadable_body(path).into(),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Missing<'_>> for Error {
    fn from(missing: Missing<'_>) -> Self {
        Self::Refused(missing.into())
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for Error {
    /// The cause is for the log. What may go well later is a 503, by which Orca asks again; a 500 would end its stage.
    fn from(cause: StoreError) -> Self {
        error!(error = %spindrift_process::report(&cause), "a request failed");
        Self::Refused(if cause.is_retryable() {
            Refusal::unavailable(STORE_IS_AWAY)
        } else {
            Refusal::internal(STORE_IS_AWAY)
        })
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let code = |status| StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        match self {
            Self::Refused(refusal) => {
                (code(refusal.status), Json(refusal.body(Timestamp::now()))).into_response()
            }
            Self::Problem(problem) => {
                (code(problem.status), [(CONTENT_TYPE, PROBLEM)], Json(problem)).into_response()
            }
        }
    }
}
