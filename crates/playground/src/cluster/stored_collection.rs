//! Collections whose objects are in the cluster's store.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use tokio::sync::Notify;

use super::Cluster;
use crate::catalogue::{Catalogue, Resource};
use crate::storage::collection::{Change, Changes, Collection, Snapshot, SnapshotItem};
use crate::storage::{ChangesError, RevisionGone};

/// Collection of a resource whose objects are in the cluster's store.
pub(crate) struct StoredCollection {
    cluster: Weak<Cluster>,
    resource: Arc<Resource>,
}

// === impl StoredCollection ===

impl StoredCollection {
    pub(crate) fn new(cluster: &Arc<Cluster>, resource: &Arc<Resource>) -> Self {
        // The tables of custom resources are opened and closed with their definitions.
        if Catalogue::is_builtin(&resource.storage) && !cluster.store().read().has(&resource.storage) {
            cluster.store().write().open(&resource.storage);
        }
        Self { cluster: Arc::downgrade(cluster), resource: Arc::clone(resource) }
    }
}

impl Collection for StoredCollection {
    fn revision(&self) -> u64 {
        self.cluster.upgrade().map_or(0, |cluster| cluster.store().read().revision)
    }

    fn get(&self, path: &str) -> Option<Bytes> {
        self.cluster.upgrade()?.store().read().get(&self.resource.storage, path).cloned()
    }

    fn snapshot(&self, prefix: &str, after: Option<&str>, at: Option<u64>) -> Result<Snapshot, RevisionGone> {
        let Some(cluster) = self.cluster.upgrade() else { return Err(RevisionGone { oldest: 0 }) };
        let store = cluster.store().read();
        let revision = at.unwrap_or(store.revision);
        let mut objects = store.snapshot(&self.resource.storage, prefix, revision)?;
        if let Some(after) = after {
            objects.drain(..objects.partition_point(|(path, _)| &**path <= after));
        }
        let count = objects.len() as u64;
        let items = objects.into_iter().map(|(path, object)| SnapshotItem { path, object });
        Ok(Snapshot { revision, count, items: Box::new(items) })
    }

    fn changes(&self, after: u64, limit: usize) -> Result<Changes, ChangesError> {
        let Some(cluster) = self.cluster.upgrade() else { return Err(ChangesError::Closed) };
        let (events, position) = cluster.store().read().changes(&self.resource.storage, after, limit)?;
        let changes = events
            .into_iter()
            .map(|event| Change {
                revision: event.revision,
                kind: event.kind,
                path: event.path,
                object: event.object,
                previous: event.previous,
            })
            .collect();
        Ok(Changes { changes, position })
    }

    fn changed(&self) -> Option<Arc<Notify>> {
        self.cluster.upgrade()?.store().read().changed(&self.resource.storage)
    }
}
