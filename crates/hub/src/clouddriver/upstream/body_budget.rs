//! Limit on the memory for upstream responses that are being merged.

use std::sync::Arc;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::client::UpstreamError;

/// Size of one list; a Clouddriver's server groups of a large application are tens of megabytes.
const LARGEST_LIST: usize = 256 * 1024 * 1024;
/// Size of all lists that are being merged.
const ALL_LISTS: usize = 2 * LARGEST_LIST;

/// Bytes that response bodies may occupy.
#[derive(Debug)]
pub(super) struct BodyBudget {
    bytes: Arc<Semaphore>,
    largest: usize,
}

/// Bytes that one body occupies until this is dropped.
#[derive(Debug)]
pub(super) struct BodyPermit {
    _bytes: Option<OwnedSemaphorePermit>,
}

// === impl BodyBudget ===

impl BodyBudget {
    fn new(all: usize, largest: usize) -> Self {
        Self { bytes: Arc::new(Semaphore::new(all)), largest }
    }

    /// Reads a whole body. If the budget is used up, this fails at once instead of waiting: two half-read bodies would
    /// wait for each other.
    pub(super) async fn read(&self, body: Body) -> Result<(Bytes, BodyPermit), UpstreamError> {
        let (mut whole, mut permit) = (BytesMut::new(), None::<OwnedSemaphorePermit>);
        let mut pieces = body.into_data_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| UpstreamError::Unreachable(error.to_string()))?;
            if whole.len() + piece.len() > self.largest {
                return Err(UpstreamError::Invalid(format!(
                    "its response is larger than {} bytes",
                    self.largest
                )));
            }
            let length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
            let more = Arc::clone(&self.bytes).try_acquire_many_owned(length).map_err(|_| {
                UpstreamError::Invalid("other responses that are being merged use all memory for them".into())
            })?;
            match &mut permit {
                Some(permit) => permit.merge(more),
                None => permit = Some(more),
            }
            whole.extend_from_slice(&piece);
        }
        Ok((whole.freeze(), BodyPermit { _bytes: permit }))
    }
}

impl Default for BodyBudget {
    fn default() -> Self {
        Self::new(ALL_LISTS, LARGEST_LIST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_occupies_its_bytes_until_it_is_dropped() {
        let budget = BodyBudget::new(10, 8);
        let read = |length: usize| budget.read(Body::from(vec![0; length]));
        assert!(
            matches!(read(9).await, Err(UpstreamError::Invalid(why)) if why.contains("larger than 8 bytes"))
        );
        let (body, permit) = read(8).await.unwrap();
        assert_eq!(body.len(), 8);
        assert!(matches!(read(3).await, Err(UpstreamError::Invalid(why)) if why.contains("use all memory")));
        assert!(read(2).await.is_ok());
        drop(permit);
        assert!(read(3).await.is_ok());
    }
}
