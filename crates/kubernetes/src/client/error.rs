//! How a request can fail.

use std::time::Duration;

use crate::{
    client::{status::Status, transport::TransportError},
    json::Malformed,
};

/// A request that failed, or a stream that broke.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request cannot be written down.
    #[error("build the request {request}")]
    Build {
        /// Method and path.
        request: String,
        /// What is wrong with it.
        source: http::Error,
    },
    /// No answer came: no connection, no credentials, or a connection that broke.
    #[error("send the request {request}")]
    Send {
        /// Method and path.
        request: String,
        /// What happened.
        source: Box<TransportError>,
    },
    /// The API server, or something in between, said no.
    #[error("{request} was refused")]
    Refused {
        /// Method and path.
        request: String,
        /// The answer.
        source: Box<Status>,
    },
    /// The answer broke off.
    #[error("read the answer to {request}")]
    Read {
        /// Method and path.
        request: String,
        /// What happened.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The answer took too long.
    #[error("{request} took longer than {limit:?}")]
    TimedOut {
        /// Method and path.
        request: String,
        /// What was allowed.
        limit: Duration,
    },
    /// The answer is not what Kubernetes answers.
    #[error("understand the answer to {request}")]
    Malformed {
        /// Method and path.
        request: String,
        /// What is wrong with it.
        source: Malformed,
    },
}

// === impl ApiError ===

impl ApiError {
    /// What the API server said, if it was the API server that refused.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Refused { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Whether the asked version, or the position in a list, is too old: only a new listing helps.
    pub fn is_gone(&self) -> bool {
        self.status().is_some_and(Status::is_gone)
    }

    /// Whether the credentials were not recognised.
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

    /// Whether the asked version is in the future: the store was restored from a backup, or a replica lags behind.
    pub fn is_too_large_resource_version(&self) -> bool {
        self.status().is_some_and(Status::is_too_large_resource_version)
    }

    /// Whether the API server cannot send a list through a watch, so that [`crate::Api::list`] must do.
    pub fn is_unsupported_streaming_list(&self) -> bool {
        self.status().is_some_and(Status::is_unsupported_streaming_list)
    }

    /// When the API server wants to be asked again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.status()?.retry_after
    }
}
