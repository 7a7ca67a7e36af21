//! Collections: the objects of one resource for lists and watches, stored or generated.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use tokio::sync::Notify;

use super::{ChangeKind, Gone, Stop};
use crate::catalogue::{Catalogue, Resource};
use crate::cluster::Cluster;

/// All objects of one resource.
///
/// Bytes are compact JSON objects without `apiVersion` and `kind`, and never `{}`. They contain
/// `metadata.resourceVersion`. Paths are `namespace/name`, or `name` for cluster-scoped resources; lists are in their
/// byte order.
pub trait Collection: Send + Sync + 'static {
    /// Newest revision.
    fn revision(&self) -> u64;

    /// One object.
    fn get(&self, path: &str) -> Option<Bytes>;

    /// Objects at a revision, or now; those of one namespace if a prefix such as `default/` is given, and of these the
    /// ones after a path.
    fn snapshot(&self, prefix: &str, after: Option<&str>, at: Option<u64>) -> Result<Snapshot, Gone>;

    /// Changes after a revision in their order, at most `limit`.
    fn changes(&self, after: u64, limit: usize) -> Result<Changes, Stop>;

    /// Notifies of changes by [`Notify::notify_waiters`]; none if the collection never changes.
    fn changed(&self) -> Option<Arc<Notify>>;
}

/// Objects at one revision, generated one by one while a list is written.
pub struct Snapshot {
    pub revision: u64,
    /// Number of selected objects.
    pub count: u64,
    pub items: Box<dyn Iterator<Item = Item> + Send>,
}

/// One object of a snapshot.
#[derive(Debug, Clone)]
pub struct Item {
    pub path: Box<str>,
    pub object: Bytes,
}

/// Changes, and the revision up to which they are complete.
pub struct Changes {
    pub changes: Vec<Change>,
    /// No other changes happened up to this revision.
    pub position: u64,
}

/// One change of one object.
#[derive(Debug, Clone)]
pub struct Change {
    pub revision: u64,
    pub kind: ChangeKind,
    pub path: Box<str>,
    pub object: Bytes,
    /// State before the change, by which watches with a selector detect that an object enters or leaves it.
    pub previous: Option<Bytes>,
}

/// Collection of a resource whose objects are in the cluster's store.
pub(crate) struct Stored {
    cluster: Weak<Cluster>,
    resource: Arc<Resource>,
}

// === impl Stored ===

impl Stored {
    pub(crate) fn new(cluster: &Arc<Cluster>, resource: &Arc<Resource>) -> Self {
        // The tables of custom resources are opened and closed with their definitions.
        if Catalogue::is_builtin(&resource.storage) && !cluster.store().read().has(&resource.storage) {
            cluster.store().write().open(&resource.storage);
        }
        Self { cluster: Arc::downgrade(cluster), resource: Arc::clone(resource) }
    }
}

impl Collection for Stored {
    fn revision(&self) -> u64 {
        self.cluster.upgrade().map_or(0, |cluster| cluster.store().read().revision)
    }

    fn get(&self, path: &str) -> Option<Bytes> {
        self.cluster.upgrade()?.store().read().get(&self.resource.storage, path).cloned()
    }

    fn snapshot(&self, prefix: &str, after: Option<&str>, at: Option<u64>) -> Result<Snapshot, Gone> {
        let Some(cluster) = self.cluster.upgrade() else { return Err(Gone { oldest: 0 }) };
        let store = cluster.store().read();
        let revision = at.unwrap_or(store.revision);
        let mut objects = store.snapshot(&self.resource.storage, prefix, revision)?;
        if let Some(after) = after {
            objects.drain(..objects.partition_point(|(path, _)| &**path <= after));
        }
        let count = objects.len() as u64;
        let items = objects.into_iter().map(|(path, object)| Item { path, object });
        Ok(Snapshot { revision, count, items: Box::new(items) })
    }

    fn changes(&self, after: u64, limit: usize) -> Result<Changes, Stop> {
        let Some(cluster) = self.cluster.upgrade() else { return Err(Stop::Closed) };
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
