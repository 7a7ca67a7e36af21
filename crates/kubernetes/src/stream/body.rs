//! Bodies of answers, chunk by chunk.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;

use tokio::time::{Instant, timeout_at};
use zeroize::Zeroize;

use crate::{client::error::ApiError, client::transport::Body};

/// A body that is read as far as is asked for.
pub(crate) struct Incoming {
    request: String,
    body: Body,
}

/// A chunk that is being read.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    bytes: Bytes,
    read: usize,
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

// === impl Chunk ===

impl Chunk {
    pub(crate) fn replace(&mut self, bytes: Bytes) {
        debug_assert!(self.rest().is_empty(), "the last chunk was not read to its end");
        *self = Self { bytes, read: 0 };
    }

    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.read..]
    }

    pub(crate) fn advance(&mut self, read: usize) {
        self.read += read;
    }

    /// Lets go of the chunk; if it held secrets, and nobody else holds its memory, that is wiped.
    pub(crate) fn finish(&mut self, wipe: bool) {
        let Self { bytes, .. } = std::mem::take(self);
        if wipe {
            self::wipe(bytes);
        }
    }
}

/// Wipes bytes that nobody else holds.
///
/// What the connection still holds cannot be reached from here; it is overwritten by what arrives next.
pub(crate) fn wipe(bytes: Bytes) {
    if let Ok(mut bytes) = bytes.try_into_mut() {
        bytes.as_mut().zeroize();
    }
}
