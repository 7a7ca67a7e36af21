//! Errors at the REST edge, in the shape that Spinnaker's services expect of each other.

use axum::{
    Json,
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use spindrift_process::serve::BodyRefused;
use tracing::error;
use utoipa::ToSchema;

use super::body::Unread;
use crate::store::StoreError;

/// Error of a request.
#[derive(Debug)]
pub(super) struct Error {
    status: StatusCode,
    message: String,
}

/// The body of an error.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorBody {
    timestamp: String,
    status: u16,
    error: &'static str,
    message: String,
}

// === impl Error ===

impl Error {
    /// The caller asked for something that cannot be understood; names the field.
    pub(super) fn bad_request(field: &str, expected: impl std::fmt::Display) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: format!("{field}: {expected}") }
    }

    /// It cannot be done as things are.
    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self { status: StatusCode::CONFLICT, message: message.into() }
    }

    /// Text for the caller.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// The body is not of a type that is read.
    pub(super) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self { status: StatusCode::UNSUPPORTED_MEDIA_TYPE, message: message.into() }
    }

    /// There is no such thing.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, message: message.into() }
    }
}

/// The query of a request; one that makes no sense is answered in the same shape as every other error.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        if parts.uri.query().is_some_and(|query| query.contains("%00")) {
            return Err(Error::bad_request("query", "nothing has a null character in its name"));
        }
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(query)) => Ok(Self(query)),
            Err(rejection) => Err(Error::bad_request("query", rejection.body_text())),
        }
    }
}

/// The segments of a path, likewise.
pub(super) struct Path<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(segments)) => Ok(Self(segments)),
            Err(rejection) => Err(Error::bad_request("path", rejection.body_text())),
        }
    }
}

impl From<Unread> for Error {
    fn from(why: Unread) -> Self {
        let status = match why {
            Unread::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Unread::BrokenOff => StatusCode::BAD_REQUEST,
            Unread::Refused(BodyRefused::TooSlow) => StatusCode::REQUEST_TIMEOUT,
            Unread::Refused(BodyRefused::Busy) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self { status, message: format!("body: {why}") }
    }
}

impl From<StoreError> for Error {
    /// The cause is for the log, not for the caller.
    fn from(cause: StoreError) -> Self {
        error!(error = %spindrift_process::report(&cause), "a request failed");
        if cause.is_retryable() {
            return Self {
                status: StatusCode::SERVICE_UNAVAILABLE,
                message: "the store did not answer; try again".into(),
            };
        }
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            message: "the hub could not answer; its log says why".into(),
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let Self { status, message } = self;
        let body = ErrorBody {
            timestamp: Timestamp::now().to_string(),
            status: status.as_u16(),
            error: status.canonical_reason().unwrap_or("Error"),
            message,
        };
        (status, Json(body)).into_response()
    }
}
