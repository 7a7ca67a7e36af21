//! Number of bytes that passed a proxy.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a proxy has forwarded, of all its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// From clients to the target.
    pub up: u64,
    /// From the target to clients.
    pub down: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

#[derive(Default)]
pub(super) struct Meter {
    up: AtomicU64,
    down: AtomicU64,
}

// === impl Meter ===

impl Meter {
    pub(super) fn add(&self, direction: Direction, bytes: usize) {
        let counter = match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        };
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Traffic {
        Traffic { up: self.up.load(Ordering::Relaxed), down: self.down.load(Ordering::Relaxed) }
    }
}
