//! Subscriptions of controllers in this process to the changes of a cluster.

use std::sync::Arc;

use bytes::Bytes;

use super::{Cluster, Key};
use crate::storage::ChangeKind;

/// Subscription to all changes of a cluster. It reads the cluster's own history, so it buffers nothing and never blocks
/// a writer; a subscriber that is too slow gets [`Lagged`].
pub struct Subscription {
    cluster: Arc<Cluster>,
    position: u64,
}

/// One change. The object may have changed again since: read its current state from the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeNotice {
    pub key: Key,
    pub kind: ChangeKind,
    pub revision: u64,
    /// The object after the change, without `apiVersion` and `kind`; for a deletion, its last state.
    pub object: Bytes,
}

/// The subscription missed changes: list everything, then continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lagged;

/// Maximum number of changes per call.
const BATCH: usize = 256;

// === impl Cluster ===

impl Cluster {
    /// Subscribes to all changes after this call.
    pub fn subscribe(self: &Arc<Self>) -> Subscription {
        self.subscribe_from(self.revision())
    }

    /// Subscribes to the changes after a revision.
    pub fn subscribe_from(self: &Arc<Self>, revision: u64) -> Subscription {
        Subscription { cluster: Arc::clone(self), position: revision }
    }
}

// === impl Subscription ===

impl Subscription {
    /// Waits for the next changes. After [`Lagged`] the subscription continues from the newest revision.
    ///
    /// Cancel safe: changes that were not returned are returned by the next call.
    pub async fn next(&mut self) -> Result<Vec<ChangeNotice>, Lagged> {
        loop {
            let cluster = Arc::clone(&self.cluster);
            let changed = cluster.changed.notified();
            tokio::pin!(changed);
            // Registered before the check, so that a change in between is not missed.
            changed.as_mut().enable();
            let notices = self.pending()?;
            if !notices.is_empty() {
                return Ok(notices);
            }
            changed.await;
        }
    }

    /// Returns the changes that exist already.
    pub fn pending(&mut self) -> Result<Vec<ChangeNotice>, Lagged> {
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
            ChangeNotice {
                key: Key::new(group, plural, namespace, name),
                kind: event.kind,
                revision: event.revision,
                object: event.object,
            }
        });
        Ok(notices.collect())
    }
}
