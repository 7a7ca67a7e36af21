//! How much of the Clouddriver's answers may be in memory at once.

use std::sync::Arc;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::client::Silence;

/// What a list may be at most; a Clouddriver's server groups of a large application are tens of megabytes.
const LARGEST_LIST: usize = 256 * 1024 * 1024;
/// What all lists may be that are being merged.
const ALL_LISTS: usize = 2 * LARGEST_LIST;

/// Room for answers.
#[derive(Debug)]
pub(super) struct Room {
    bytes: Arc<Semaphore>,
    largest: usize,
}

/// The room that an answer takes, until it is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    _bytes: Option<OwnedSemaphorePermit>,
}

// === impl Room ===

impl Room {
    fn new(all: usize, largest: usize) -> Self {
        Self { bytes: Arc::new(Semaphore::new(all)), largest }
    }

    /// Reads an answer whole. One for which there is no room does not wait for it: two halves would wait for each other.
    pub(super) async fn read(&self, body: Body) -> Result<(Bytes, Taken), Silence> {
        let (mut whole, mut taken) = (BytesMut::new(), None::<OwnedSemaphorePermit>);
        let mut pieces = body.into_data_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|error| Silence::Down(error.to_string()))?;
            if whole.len() + piece.len() > self.largest {
                return Err(Silence::Useless(format!("its answer is larger than {} bytes", self.largest)));
            }
            let length = u32::try_from(piece.len()).unwrap_or(u32::MAX);
            let permit = Arc::clone(&self.bytes).try_acquire_many_owned(length).map_err(|_| {
                Silence::Useless("there is no room for its answer beside others that are being merged".into())
            })?;
            match &mut taken {
                Some(taken) => taken.merge(permit),
                None => taken = Some(permit),
            }
            whole.extend_from_slice(&piece);
        }
        Ok((whole.freeze(), Taken { _bytes: taken }))
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::new(ALL_LISTS, LARGEST_LIST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_takes_room_until_it_is_dropped() {
        let room = Room::new(10, 8);
        let read = |length: usize| room.read(Body::from(vec![0; length]));
        assert!(matches!(read(9).await, Err(Silence::Useless(why)) if why.contains("larger than 8 bytes")));
        let (body, taken) = read(8).await.unwrap();
        assert_eq!(body.len(), 8);
        assert!(matches!(read(3).await, Err(Silence::Useless(why)) if why.contains("no room")));
        assert!(read(2).await.is_ok());
        drop(taken);
        assert!(read(3).await.is_ok());
    }
}
