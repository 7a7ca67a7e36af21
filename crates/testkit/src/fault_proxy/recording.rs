//! Bytes that passed a proxy.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// The streams seen so far, each apart: interleaved, a text could be torn in two.
#[derive(Default)]
pub(super) struct Recording {
    numbers: AtomicUsize,
    streams: Mutex<Option<Vec<Vec<u8>>>>,
}

// === impl Recording ===

impl Recording {
    pub(super) fn start(&self) {
        self.streams.lock().get_or_insert_default();
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.streams.lock().iter().flatten().flatten().copied().collect()
    }

    /// The number of a stream that begins.
    pub(super) fn new_stream(&self) -> usize {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn add(&self, stream: usize, bytes: &[u8]) {
        let mut streams = self.streams.lock();
        let Some(streams) = streams.as_mut() else { return };
        if streams.len() <= stream {
            streams.resize_with(stream + 1, Vec::new);
        }
        streams[stream].extend_from_slice(bytes);
    }
}
