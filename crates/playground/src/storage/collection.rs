//! The objects of one resource, as lists and watches see them: stored, or made up when asked for.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use tokio::sync::Notify;

use super::{ChangeKind, Gone, Stop};
use crate::catalogue::{Catalogue, Resource};
use crate::cluster::Cluster;

/// All objects of one resource.
///
/// Bytes are compact JSON objects without `apiVersion` and `kind`, and never `{}`. They carry
/// `metadata.resourceVersion`. Paths are `namespace/name`, or `name` for resources without namespaces; their byte
/// order is the order of lists.
pub trait Collection: Send + Sync + 'static {
    /// The newest version.
    fn revision(&self) -> u64;

    /// One object.
    fn get(&self, path: &str) -> Option<Bytes>;

    /// The objects at a version, or now; those of one namespace if a prefix such as `default/` is given, and of
    /// these the ones after a path.
    fn snapshot(&self, prefix: &str, after: Option<&str>, at: Option<u64>) -> Result<Snapshot, Gone>;

    /// Changes after a version in their order, at most `limit`.
    fn changes(&self, after: u64, limit: usize) -> Result<Changes, Stop>;

    /// Wakes all that wait for changes, by [`Notify::notify_waiters`]; none if nothing will ever change.
    fn changed(&self) -> Option<Arc<Notify>>;
}

/// Objects at one moment, made one by one as a list is written.
pub struct Snapshot {
    pub revision: u64,
    /// How many there are, of those that were asked for.
    pub count: u64,
    pub items: Box<dyn Iterator<Item = Item> + Send>,
}

/// One object of a snapshot.
#[derive(Debug, Clone)]
pub struct Item {
    pub path: Box<str>,
    pub object: Bytes,
}

/// What happened, and how far was looked.
pub struct Changes {
    pub changes: Vec<Change>,
    /// Nothing happened up to this version beside these changes.
    pub position: u64,
}

/// One change of one object.
#[derive(Debug, Clone)]
pub struct Change {
    pub revision: u64,
    pub kind: ChangeKind,
    pub path: Box<str>,
    pub object: Bytes,
    /// The state before, from which watches with a selector see that an object came or went.
    pub previous: Option<Bytes>,
}

/// The collection of a resource whose objects are in the cluster's store.
pub(crate) struct Stored {
    cluster: Weak<Cluster>,
    resource: Arc<Resource>,
}

// === impl Stored ===

impl Stored {
    pub(crate) fn new(cluster: &Arc<Cluster>, resource: &Arc<Resource>) -> Self {
        // The tables of custom resources come and go with their definitions.
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
