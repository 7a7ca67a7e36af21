//! Chunks of a body while they are split.

use bytes::Bytes;

use crate::scrub::wipe::wipe;

/// Chunk that is being split.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    bytes: Bytes,
    read: usize,
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

    /// Drops the chunk; wipes its memory if it may hold secrets and no one else holds it.
    pub(crate) fn finish(&mut self, wipe: bool) {
        let Self { bytes, .. } = std::mem::take(self);
        if wipe {
            self::wipe(bytes);
        }
    }
}
