//! Counters of requests and connections.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Requests and connections of one [`crate::Api`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransportStats {
    /// Requests sent, retries included.
    pub requests: u64,
    /// Connections made.
    pub dials: u64,
    /// Connections open.
    pub connections: usize,
    /// Requests in flight, watches included.
    pub streams: usize,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    requests: AtomicU64,
    dials: AtomicU64,
    connections: AtomicUsize,
    streams: AtomicUsize,
}

// === impl Counters ===

impl Counters {
    pub(super) fn snapshot(&self) -> TransportStats {
        TransportStats {
            requests: self.requests.load(Relaxed),
            dials: self.dials.load(Relaxed),
            connections: self.connections.load(Relaxed),
            streams: self.streams.load(Relaxed),
        }
    }

    pub(super) fn requested(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    pub(super) fn connected(&self) {
        self.dials.fetch_add(1, Relaxed);
        self.connections.fetch_add(1, Relaxed);
    }

    pub(super) fn disconnected(&self) {
        self.connections.fetch_sub(1, Relaxed);
    }

    pub(super) fn stream_opened(&self) {
        self.streams.fetch_add(1, Relaxed);
    }

    pub(super) fn stream_closed(&self) {
        self.streams.fetch_sub(1, Relaxed);
    }
}
