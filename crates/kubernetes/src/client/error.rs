//! Errors of requests.

use std::time::Duration;

use spindrift_model::InvalidSegment;

use crate::{
    client::{status::Status, transport::TransportError},
    json::Malformed,
};

/// A request that failed, or a stream that broke.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// A name cannot be a segment of the path; nothing was sent.
    #[error("address the object of {method}")]
    InvalidPath {
        /// Method.
        method: String,
        /// The cause.
        source: InvalidSegment,
    },
    /// The request is not valid HTTP.
    #[error("build the request {request}")]
    Build {
        /// Method and path.
        request: String,
        /// The cause.
        source: http::Error,
    },
    /// No response came: no connection, no credentials, or a connection that broke.
    #[error("send the request {request}")]
    Send {
        /// Method and path.
        request: String,
        /// The cause.
        source: Box<TransportError>,
    },
    /// The API server, or a proxy before it, returned an error.
    #[error("{request} was refused")]
    Refused {
        /// Method and path.
        request: String,
        /// The error.
        source: Box<Status>,
    },
    /// The response broke off.
    #[error("read the response to {request}")]
    Read {
        /// Method and path.
        request: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The response is longer than any that makes sense.
    #[error("the response to {request} is longer than {} MiB", limit / 1024 / 1024)]
    TooLong {
        /// Method and path.
        request: String,
        /// Largest number of bytes.
        limit: usize,
    },
    /// The response took too long.
    #[error("{request} took longer than {limit:?}")]
    TimedOut {
        /// Method and path.
        request: String,
        /// The timeout.
        limit: Duration,
    },
    /// The response cannot be parsed.
    #[error("parse the response to {request}")]
    Malformed {
        /// Method and path.
        request: String,
        /// The cause.
        source: Malformed,
    },
}

// === impl ApiError ===

impl ApiError {
    /// Returns the error of the API server, if it returned one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Refused { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Whether the requested resource version or continue token is too old: only a new list helps.
    pub fn is_gone(&self) -> bool {
        self.status().is_some_and(Status::is_gone)
    }

    /// Whether the API server did not accept the credentials.
    pub fn is_unauthorized(&self) -> bool {
        self.status().is_some_and(Status::is_unauthorized)
    }

    /// Whether the credentials do not allow this.
    pub fn is_forbidden(&self) -> bool {
        self.status().is_some_and(Status::is_forbidden)
    }

    /// Whether the resource or the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// Whether the requested resource version is in the future: the store was restored from a backup, or a replica lags.
    pub fn is_too_large_resource_version(&self) -> bool {
        self.status().is_some_and(Status::is_too_large_resource_version)
    }

    /// Whether the API server cannot send a list through a watch, so that [`crate::Api::list`] must be used.
    pub fn is_unsupported_streaming_list(&self) -> bool {
        self.status().is_some_and(Status::is_unsupported_streaming_list)
    }

    /// Delay before a retry that the API server requests.
    pub fn retry_after(&self) -> Option<Duration> {
        self.status()?.retry_after
    }
}
