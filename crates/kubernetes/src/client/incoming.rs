//! Response bodies, read chunk by chunk.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use super::{error::ApiError, transport::Body};

/// A body that is read as far as is asked for.
pub(crate) struct Incoming {
    request: String,
    body: Body,
}

// === impl Incoming ===

impl Incoming {
    /// The body of the answer to this request.
    pub(crate) fn new(request: &str, body: Body) -> Self {
        Self { request: request.to_owned(), body }
    }

    /// The next chunk, until the deadline, which is at the end of this limit; none is the end.
    pub(crate) async fn chunk(
        &mut self,
        deadline: Instant,
        limit: Duration,
    ) -> Result<Option<Bytes>, ApiError> {
        loop {
            let frame = timeout_at(deadline, self.body.frame())
                .await
                .map_err(|_| ApiError::TimedOut { request: self.request.clone(), limit })?;
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame
                .map_err(|source| ApiError::Read { request: self.request.clone(), source: source.into() })?;
            // What is not data is trailers.
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }
}
