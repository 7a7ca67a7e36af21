//! Gate for writers, which waits until all have left when it closes.

use tokio::sync::{RwLock, RwLockReadGuard, watch};

pub(crate) struct Gate {
    open: watch::Sender<bool>,
    /// Held for reading by every writer inside.
    inside: RwLock<()>,
}

// === impl Gate ===

impl Default for Gate {
    fn default() -> Self {
        Self { open: watch::Sender::new(false), inside: RwLock::new(()) }
    }
}

impl Gate {
    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }

    /// Closes the gate, and returns when no writer is inside.
    pub(crate) async fn close(&self) {
        self.open.send_replace(false);
        drop(self.inside.write().await);
    }

    /// Waits until the gate is open; one is inside as long as the answer lives.
    pub(super) async fn pass(&self) -> RwLockReadGuard<'_, ()> {
        let mut open_rx = self.open.subscribe();
        loop {
            open_rx.wait_for(|open| *open).await.unwrap();
            let inside = self.inside.read().await;
            // It may have been closed meanwhile.
            if *open_rx.borrow() {
                return inside;
            }
        }
    }
}
