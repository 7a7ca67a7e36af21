//! Errors in the formats of Clouddriver and of its web framework.

use axum::{
    Json,
    http::{
        HeaderName, HeaderValue, StatusCode,
        header::{CONTENT_TYPE, VARY},
    },
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use spindrift_process::serve::BodyRefused;
use spindrift_spinnaker::{Missing, Problem, Refusal};
use tracing::error;

use crate::{rest::body::Unread, store::StoreError};

/// Error response.
#[derive(Debug)]
pub(crate) enum Error {
    /// Clouddriver's own format.
    Refused(Refusal),
    /// Format of the framework, for invalid requests.
    Problem(Problem),
}

/// Message of a response that failed because of the store.
pub(super) const STORE_FAILED: &str = "the hub's store is unavailable; see its log";

const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// `Vary` of Clouddriver's own errors.
const REFUSED_VARY: (HeaderName, HeaderValue) = (VARY, HeaderValue::from_static("accept-encoding"));
/// `Vary` of the framework's errors for paths without a route.
const UNROUTED_VARY: [&str; 3] =
    ["Origin", "Access-Control-Request-Method", "Access-Control-Request-Headers"];

// === impl Error ===

impl Error {
    /// Error for the body of a request to `path`.
    pub(crate) fn unread(why: Unread, path: &str) -> Self {
        match why {
            Unread::TooLarge(most) => Refusal::too_large(most).into(),
            Unread::BrokenOff => Problem::unreadable_body(path).into(),
            Unread::Refused(refused @ BodyRefused::TooSlow) => {
                Refusal::request_timeout(refused.to_string()).into()
            }
            // Orca retries a 503.
            Unread::Refused(refused @ BodyRefused::Busy) => Refusal::unavailable(refused.to_string()).into(),
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
    /// Logs the cause. A retryable error is a 503, which Orca retries; a 500 would end its stage.
    fn from(cause: StoreError) -> Self {
        error!(error = %spindrift_process::report(&cause), "a request failed");
        Self::Refused(if cause.is_retryable() {
            Refusal::unavailable(STORE_FAILED)
        } else {
            Refusal::internal(STORE_FAILED)
        })
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let code = |status| StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        match self {
            Self::Refused(refusal) => {
                (code(refusal.status), [REFUSED_VARY], Json(refusal.body(Timestamp::now()))).into_response()
            }
            Self::Problem(problem) => {
                let status = code(problem.status);
                let mut response = (status, [(CONTENT_TYPE, PROBLEM)], Json(problem)).into_response();
                if status == StatusCode::NOT_FOUND {
                    let headers = response.headers_mut();
                    for name in UNROUTED_VARY {
                        headers.append(VARY, HeaderValue::from_static(name));
                    }
                }
                response
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_vary_as_recorded() {
        let vary = |error: Error| {
            let response = error.into_response();
            let all = response.headers().get_all(VARY).iter();
            all.map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(vary(Refusal::not_found("x").into()), ["accept-encoding"]);
        assert_eq!(vary(Refusal::internal("x").into()), ["accept-encoding"]);
        assert_eq!(vary(Problem::no_such_route("/x").into()), UNROUTED_VARY);
        assert_eq!(vary(Problem::wrong_method("GET", "/x").into()), Vec::<String>::new());
    }
}
