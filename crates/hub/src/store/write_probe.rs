//! Probe of the store: whether it accepts writes now.

use std::time::Duration;

use parking_lot::Mutex;
use spindrift_model::HubId;
use spindrift_process::report;
use tokio::time::timeout;
use tracing::{info, warn};

use super::{Store, StoreError};

/// Time in which a probe must end; a database that takes longer does not serve a hub.
const DEADLINE: Duration = Duration::from_secs(5);

/// Writes the heartbeat of this hub, and keeps the result for health checks, which then cost the database nothing.
#[derive(Debug)]
pub struct WriteProbe {
    store: Store,
    id: HubId,
    base_url: String,
    seen: Mutex<SeenWrites>,
}

#[derive(Debug, Default)]
struct SeenWrites {
    /// Set if the last heartbeat was not written.
    heartbeat_failed: bool,
    /// Accounts whose batches do not get in, though the heartbeat may: it is smaller.
    unwritten_accounts: usize,
}

// === impl WriteProbe ===

impl WriteProbe {
    /// Creates a probe that has not written yet.
    pub fn new(store: Store, id: HubId, base_url: String) -> Self {
        Self { store, id, base_url, seen: Mutex::default() }
    }

    /// Writes a heartbeat in a transaction of its own.
    pub async fn write(&self) -> Result<(), StoreError> {
        let heartbeat = self.store.heartbeat(&self.id, &self.base_url);
        let written = timeout(DEADLINE, heartbeat).await.unwrap_or_else(|_elapsed| {
            Err(StoreError::Database { step: "write a heartbeat", source: sqlx::Error::PoolTimedOut })
        });
        let failed = written.is_err();
        let before = std::mem::replace(&mut self.seen.lock().heartbeat_failed, failed);
        match &written {
            Err(error) if !before => warn!(error = report(error), "the store accepts no writes"),
            Ok(()) if before => info!("the store accepts writes again"),
            _ => {}
        }
        written
    }

    /// Records the number of accounts whose batches are refused because the store is full, read-only or broken.
    pub fn set_unwritten_accounts(&self, accounts: usize) {
        self.seen.lock().unwritten_accounts = accounts;
    }

    /// Whether the store accepted the last writes.
    pub fn accepts_writes(&self) -> bool {
        let SeenWrites { heartbeat_failed, unwritten_accounts } = &*self.seen.lock();
        !heartbeat_failed && *unwritten_accounts == 0
    }
}
