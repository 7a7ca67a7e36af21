//! How a controller in this process learns what changed.

use std::sync::Arc;

use bytes::Bytes;

use super::{Cluster, Key};
use crate::storage::ChangeKind;

/// Follows all changes of a cluster. It reads the cluster's own history, so it holds nothing and never blocks a
/// writer; one that is too slow is told so.
pub struct Subscription {
    cluster: Arc<Cluster>,
    position: u64,
}

/// Something changed; what it is now has to be read, and may be another thing already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub key: Key,
    pub kind: ChangeKind,
    pub revision: u64,
    /// The object after the change, without its type; of a deleted one its last state.
    pub object: Bytes,
}

/// Changes were missed: read everything anew, then go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lagged;

/// How many changes are handed over at once.
const BATCH: usize = 256;

// === impl Cluster ===

impl Cluster {
    /// Follows the changes from now on.
    pub fn subscribe(self: &Arc<Self>) -> Subscription {
        self.subscribe_from(self.revision())
    }

    /// Follows the changes after a version.
    pub fn subscribe_from(self: &Arc<Self>, revision: u64) -> Subscription {
        Subscription { cluster: Arc::clone(self), position: revision }
    }
}

// === impl Subscription ===

impl Subscription {
    /// Waits for the next changes. After [`Lagged`] the subscription goes on from the newest version.
    ///
    /// Cancel safe: what was not handed over is handed over by the next call.
    pub async fn next(&mut self) -> Result<Vec<Notice>, Lagged> {
        loop {
            let cluster = Arc::clone(&self.cluster);
            let changed = cluster.changed.notified();
            tokio::pin!(changed);
            // Registered before the look, so that a change in between is not missed.
            changed.as_mut().enable();
            let notices = self.pending()?;
            if !notices.is_empty() {
                return Ok(notices);
            }
            changed.await;
        }
    }

    /// The changes that are there already.
    pub fn pending(&mut self) -> Result<Vec<Notice>, Lagged> {
        let store = self.cluster.store.read();
        let Ok(events) = store.all_changes(self.position, BATCH) else {
            self.position = store.revision;
            return Err(Lagged);
        };
        if let Some(last) = events.last() {
            self.position = last.revision;
        }
        let notices = events.into_iter().map(|event| {
            let (plural, group) = event.table.split_once('.').unwrap_or((&event.table, ""));
            let (namespace, name) = event.path.split_once('/').unwrap_or(("", &event.path));
            Notice {
                key: Key::new(group, plural, namespace, name),
                kind: event.kind,
                revision: event.revision,
                object: event.object,
            }
        });
        Ok(notices.collect())
    }
}
