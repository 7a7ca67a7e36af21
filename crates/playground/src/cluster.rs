//! One simulated cluster: catalogue, store, and the hooks for faults and container logs.
//!
//! In-process controllers use it directly; clients use it through [`crate::http`].

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use tokio::sync::Notify;

use crate::catalogue::{Catalogue, DEFINITIONS, Resource, TableId};
use crate::convert;
use crate::object;
use crate::status::Status;
use crate::storage::{Limits, Store, collection::Collection};

mod delete;
mod garbage;
mod layer;
mod logs;
mod seed;
mod stored_collection;
mod subscription;
#[cfg(test)]
mod tests;
mod tokens;
mod write;

pub(crate) use delete::Deletion;
pub use delete::{DeleteOptions, Propagation};
pub use layer::{Body, BodyError, ConnectionClosed, Layer, Next, RequestBody};
pub use logs::{ContainerRun, LogLine, LogSource};
use stored_collection::StoredCollection;
pub use subscription::{ChangeNotice, Lagged, Subscription};
pub(crate) use tokens::{IssuedToken, Tokens};
pub(crate) use write::{ObjectPart, ObjectUpdate};

/// Simulated cluster; shared as `Arc<Cluster>`.
pub struct Cluster {
    name: String,
    store: RwLock<Store>,
    catalogue: RwLock<Arc<Catalogue>>,
    /// Collections that are generated instead of stored.
    generated: RwLock<HashMap<TableId, Arc<dyn Collection>>>,
    layer: RwLock<Option<Arc<dyn Layer>>>,
    logs: RwLock<Option<Arc<dyn LogSource>>>,
    tokens: Mutex<Tokens>,
    /// Notified of every change of any table.
    changed: Notify,
}

/// Size of the history and identity of a cluster.
#[derive(Debug, Clone, Copy)]
pub struct ClusterOptions {
    /// Number of changes in the history. A watch that is further behind gets 410.
    pub history_changes: usize,
    /// Size of the objects in the history, in bytes.
    pub history_bytes: usize,
    /// Revision before the first change. If it grows from run to run, clients of an earlier run notice that they missed
    /// changes.
    pub revision: u64,
    /// Seed of the uid of `kube-system`; without it the uid is random.
    pub identity: Option<u64>,
}

/// Key of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Empty for the core group.
    pub group: String,
    pub plural: String,
    /// Empty for cluster-scoped kinds.
    pub namespace: String,
    pub name: String,
}

// === impl Key ===

impl Key {
    pub fn new(group: &str, plural: &str, namespace: &str, name: &str) -> Self {
        Self { group: group.into(), plural: plural.into(), namespace: namespace.into(), name: name.into() }
    }
}

impl Default for ClusterOptions {
    fn default() -> Self {
        // At 30 changes per second a watch can reconnect within a minute. A thousand idle clusters use far less than
        // this limit.
        Self { history_changes: 2_000, history_bytes: 4 << 20, revision: 1, identity: None }
    }
}

// === impl Cluster ===

impl Cluster {
    /// Creates a cluster with its initial objects: four namespaces, the `kubernetes` service, the common roles.
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        Self::with_options(name, ClusterOptions::default())
    }

    pub fn with_options(name: impl Into<String>, options: ClusterOptions) -> Arc<Self> {
        let ClusterOptions { history_changes, history_bytes, revision, identity } = options;
        let cluster = Arc::new(Self {
            name: name.into(),
            store: RwLock::new(Store::new(Limits { changes: history_changes, bytes: history_bytes })),
            catalogue: RwLock::new(Catalogue::builtin()),
            generated: RwLock::default(),
            layer: RwLock::default(),
            logs: RwLock::default(),
            tokens: Mutex::default(),
            changed: Notify::new(),
        });
        cluster.store.write().revision = revision;
        cluster.seed();
        if let Some(identity) = identity {
            cluster.identify(identity);
        }
        if revision > 1 {
            // The history has no states before this revision.
            cluster.compact();
        }
        cluster
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The uid of `kube-system`, which identifies the cluster to clients.
    pub fn uid(&self) -> String {
        let kube_system = self.get(&Key::new("", "namespaces", "", "kube-system"));
        kube_system.map(|namespace| object::uid(&namespace).to_owned()).unwrap_or_default()
    }

    /// Resources that are served now.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue.read())
    }

    /// Revision of the newest change.
    pub fn revision(&self) -> u64 {
        self.store.read().revision
    }

    /// Returns an object in the preferred version of its kind.
    pub fn get(&self, key: &Key) -> Option<Value> {
        let resource = self.resource(key).ok()?;
        let bytes = self.collection_bytes(&resource, &resource.path(&key.namespace, &key.name))?;
        convert::present(&resource, &bytes)
    }

    /// Returns all objects of a resource, or those of a namespace, in the order of their names.
    pub fn list(&self, group: &str, plural: &str, namespace: Option<&str>) -> Vec<Value> {
        let catalogue = self.catalogue();
        let Some(resource) = catalogue.preferred(group, plural) else { return Vec::new() };
        let prefix = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let objects: Vec<Bytes> =
            self.store.read().scan(&resource.storage, &prefix).map(|(_, bytes)| bytes.clone()).collect();
        objects.iter().filter_map(|bytes| convert::present(resource, bytes)).collect()
    }

    /// Number of stored objects of a resource.
    pub(crate) fn count(&self, group: &str, plural: &str) -> usize {
        self.store.read().count(&crate::catalogue::table_id(group, plural))
    }

    /// Returns the objects of a resource that reference this owner.
    pub(crate) fn dependents(&self, owner: &str, group: &str, plural: &str) -> Vec<Value> {
        let catalogue = self.catalogue();
        let Some(resource) = catalogue.preferred(group, plural) else { return Vec::new() };
        let store = self.store.read();
        let places = store.dependents(owner).into_iter().filter(|(table, _)| *table == resource.storage);
        let objects: Vec<Bytes> =
            places.filter_map(|(table, path)| store.get(&table, &path).cloned()).collect();
        drop(store);
        objects.iter().filter_map(|bytes| convert::present(resource, bytes)).collect()
    }

    /// Drops the history: watches and lists at older resource versions get 410.
    pub fn compact(&self) {
        self.store.write().compact();
        self.changed.notify_waiters();
    }

    /// Installs a layer, such as faults, in front of the HTTP handling of this cluster; none removes it.
    pub fn set_layer(&self, layer: Option<Arc<dyn Layer>>) {
        *self.layer.write() = layer;
    }

    pub(crate) fn layer(&self) -> Option<Arc<dyn Layer>> {
        self.layer.read().clone()
    }

    /// Sets the source of container logs.
    pub fn set_logs(&self, logs: Arc<dyn LogSource>) {
        *self.logs.write() = Some(logs);
    }

    pub(crate) fn logs(&self) -> Option<Arc<dyn LogSource>> {
        self.logs.read().clone()
    }

    /// Serves a generated collection instead of the stored one. Clients can read it, but not write.
    pub fn set_generated(&self, group: &str, plural: &str, collection: Arc<dyn Collection>) {
        self.generated.write().insert(crate::catalogue::table_id(group, plural), collection);
    }

    pub(crate) fn is_generated(&self, resource: &Resource) -> bool {
        self.generated.read().contains_key(&resource.storage)
    }

    /// Objects of a resource, for lists and watches.
    pub(crate) fn collection(self: &Arc<Self>, resource: &Arc<Resource>) -> Arc<dyn Collection> {
        if let Some(generated) = self.generated.read().get(&resource.storage) {
            return Arc::clone(generated);
        }
        Arc::new(StoredCollection::new(self, resource))
    }

    fn collection_bytes(&self, resource: &Resource, path: &str) -> Option<Bytes> {
        if let Some(generated) = self.generated.read().get(&resource.storage) {
            return generated.get(path);
        }
        self.store.read().get(&resource.storage, path).cloned()
    }

    /// One object in the version of the resource.
    pub(crate) fn object(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Value, Status> {
        convert::present(resource, &self.bytes(resource, namespace, name)?)
            .ok_or_else(|| Status::internal("stored object is broken"))
    }

    /// Stored bytes of one object.
    pub(crate) fn bytes(&self, resource: &Resource, namespace: &str, name: &str) -> Result<Bytes, Status> {
        self.collection_bytes(resource, &resource.path(namespace, name))
            .ok_or_else(|| Status::not_found(resource, name))
    }

    pub(crate) fn store(&self) -> &RwLock<Store> {
        &self.store
    }

    pub(crate) fn tokens(&self) -> &Mutex<Tokens> {
        &self.tokens
    }

    pub(crate) fn resource(&self, key: &Key) -> Result<Arc<Resource>, Status> {
        self.catalogue().preferred(&key.group, &key.plural).cloned().ok_or_else(Status::no_such_path)
    }

    /// Rebuilds the catalogue after a definition was created, changed or deleted.
    fn refresh_catalogue(&self, store: &mut Store) {
        let custom: Vec<Resource> = store
            .scan(DEFINITIONS, "")
            .map(|(_, bytes)| crate::storage::parse(bytes))
            .flat_map(|definition| crate::catalogue::custom_resources(&definition))
            .filter(|resource| !Catalogue::is_builtin(&resource.storage))
            .collect();
        for resource in &custom {
            store.open(&resource.storage);
        }
        *self.catalogue.write() = Catalogue::with_custom(custom);
    }
}
