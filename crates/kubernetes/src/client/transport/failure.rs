//! How far a request came that got no answer.

use std::error::Error;

use h2::Reason;

/// What is known of a request that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The server did not look at it.
    Untouched,
    /// The server ended it, and nothing else.
    Reset,
    /// The connection ended. Whether the server had seen the request is not known.
    Broken,
}

// === impl Failure ===

impl Failure {
    pub(super) fn of(error: &hyper::Error) -> Self {
        if error.is_canceled() || error.is_closed() {
            return Self::Untouched;
        }
        match error.source().and_then(|source| source.downcast_ref::<h2::Error>()) {
            Some(error) if error.reason() == Some(Reason::REFUSED_STREAM) => Self::Untouched,
            // A goodbye names the last stream that is still served. This was a later one.
            Some(error) if error.is_go_away() && error.reason() == Some(Reason::NO_ERROR) => Self::Untouched,
            Some(error) if error.is_reset() && error.is_remote() => Self::Reset,
            _ => Self::Broken,
        }
    }
}
