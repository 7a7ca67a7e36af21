//! Progress of a request that got no response.

use std::error::Error;

use h2::Reason;

/// Progress of a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The server did not process the request.
    NotProcessed,
    /// The server reset the stream; the connection is fine.
    Reset,
    /// The connection ended. The server may have processed the request.
    Broken,
}

// === impl Failure ===

impl Failure {
    pub(super) fn of(error: &hyper::Error) -> Self {
        if error.is_canceled() || error.is_closed() {
            return Self::NotProcessed;
        }
        match error.source().and_then(|source| source.downcast_ref::<h2::Error>()) {
            Some(error) if error.reason() == Some(Reason::REFUSED_STREAM) => Self::NotProcessed,
            // GOAWAY names the last stream that the server processes. This was a later one.
            Some(error) if error.is_go_away() && error.reason() == Some(Reason::NO_ERROR) => {
                Self::NotProcessed
            }
            Some(error) if error.is_reset() && error.is_remote() => Self::Reset,
            _ => Self::Broken,
        }
    }
}
