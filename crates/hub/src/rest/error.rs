//! Errors at the REST edge, in the shape that Spinnaker's services expect of each other.

use axum::{
    Json,
    extract::FromRequestParts,
    http::{StatusCode, Uri, request::Parts},
    response::{IntoResponse, Response},
};
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use spindrift_process::serve::BodyRefused;
use tracing::error;
use utoipa::{IntoParams, ToSchema};

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

/// The query of a request. An unknown parameter is refused: a misspelt filter would select everything.
pub(super) struct Query<T>(pub(super) T);

/// Parameters of a request.
pub(super) trait QueryParameters: Sized {
    /// Names of all parameters.
    fn names() -> Vec<String>;

    fn parse(uri: &Uri) -> Result<Self, Error>;
}

/// Two groups of parameters of one request.
pub(super) struct Both<A, B>(pub(super) A, pub(super) B);

impl<T: DeserializeOwned + IntoParams> QueryParameters for T {
    fn names() -> Vec<String> {
        T::into_params(|| None).into_iter().map(|parameter| parameter.name).collect()
    }

    fn parse(uri: &Uri) -> Result<Self, Error> {
        match axum::extract::Query::try_from_uri(uri) {
            Ok(axum::extract::Query(query)) => Ok(query),
            Err(rejection) => Err(Error::bad_request("query", rejection.body_text())),
        }
    }
}

impl<A: QueryParameters, B: QueryParameters> QueryParameters for Both<A, B> {
    fn names() -> Vec<String> {
        [A::names(), B::names()].concat()
    }

    fn parse(uri: &Uri) -> Result<Self, Error> {
        Ok(Self(A::parse(uri)?, B::parse(uri)?))
    }
}

impl<T: QueryParameters, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let text = parts.uri.query().unwrap_or_default();
        if text.contains("%00") {
            return Err(Error::bad_request("query", "nothing has a null character in its name"));
        }
        let names = T::names();
        // A query that cannot be taken apart fails below.
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        for (parameter, _) in pairs.map(|pairs| pairs.0).unwrap_or_default() {
            if !names.contains(&parameter) {
                return Err(unknown_parameter(&parameter, &names));
            }
        }
        T::parse(&parts.uri).map(Self)
    }
}

fn unknown_parameter(parameter: &str, names: &[String]) -> Error {
    let close = spindrift_process::nearest(names.iter().map(String::as_str), parameter);
    let hint = close.map(|close| format!("did you mean {close}? ")).unwrap_or_default();
    Error::bad_request(
        "query",
        format_args!("unknown parameter {parameter:?}; {hint}expected {}", names.join(", ")),
    )
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
