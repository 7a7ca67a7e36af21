//! Response bodies, read chunk by chunk.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};

use super::{error::ApiError, transport::Body};

/// Response body that is read chunk by chunk.
pub(crate) struct Incoming {
    request: String,
    body: Body,
}

// === impl Incoming ===

impl Incoming {
    /// Wraps the body of the response to this request.
    pub(crate) fn new(request: &str, body: Body) -> Self {
        Self { request: request.to_owned(), body }
    }

    /// Returns the next chunk, or none at the end. The deadline ends this limit, which errors show.
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
            // Other frames are trailers.
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }
}
