//! Consequences of a deletion: dependents, the objects of a namespace, the custom resources of a definition.

use serde_json::{Value, json};

use super::delete::{Deletion, grace, is_free};
use super::{Cluster, DeleteOptions, Propagation};
use crate::catalogue::{Catalogue, DEFINITIONS, TableId, table_id};
use crate::object::{self, metadata, text};
use crate::storage::Store;

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// Removed objects whose dependents and owners are still to be processed. A queue instead of recursion, since chains of
/// owners can be long.
#[derive(Default)]
pub(super) struct RemovalQueue {
    removed: Vec<(TableId, Value)>,
}

// === impl Cluster ===

impl Cluster {
    /// Removes an object, or marks it as terminating if finalizers or a grace period keep it.
    pub(super) fn begin_deletion(
        &self,
        store: &mut Store,
        table: &TableId,
        path: &str,
        options: &DeleteOptions,
        queue: &mut RemovalQueue,
    ) -> Deletion {
        let Some(mut object) = store.value(table, path) else { return Deletion::Done(Value::Null) };
        let dependents = store.dependents(object::uid(&object));
        if options.propagation == Propagation::Orphan {
            orphan(store, &dependents, object::uid(&object));
        }
        // As in the real server the propagation policy is a finalizer, even if it is removed at once.
        let way = match options.propagation {
            Propagation::Background => None,
            Propagation::Foreground => Some(FOREGROUND),
            Propagation::Orphan => Some(ORPHAN),
        };
        let grace = grace(table, &object, options);
        let was_terminating = object::is_terminating(&object);
        let mut finalizers = object::finalizers(&object);
        if let Some(way) = way
            && !finalizers.iter().any(|finalizer| finalizer == way)
        {
            finalizers.push(way.into());
        }
        let is_namespace = &**table == "namespaces";
        if finalizers.is_empty() && grace == 0 && !is_namespace {
            let mut last = erase(store, table, path, queue);
            if &**table == "pods" {
                let meta = metadata(&mut last);
                meta.insert("deletionTimestamp".into(), object::now().into());
                meta.insert("deletionGracePeriodSeconds".into(), 0.into());
            }
            return Deletion::Done(last);
        }
        let before = object.clone();
        let meta = metadata(&mut object);
        let shorter =
            meta.get("deletionGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|old| grace < old);
        if !was_terminating || shorter {
            let end = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(grace);
            meta.insert("deletionTimestamp".into(), object::timestamp(end).into());
            if !is_namespace {
                meta.insert("deletionGracePeriodSeconds".into(), grace.into());
            }
        }
        if !finalizers.is_empty() {
            meta.insert("finalizers".into(), finalizers.into());
        }
        if is_namespace {
            object::child(&mut object, "status").insert("phase".into(), "Terminating".into());
        } else if meta_generation(&object) && !was_terminating {
            let generation = object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
            metadata(&mut object).insert("generation".into(), (generation + 1).into());
        }
        if object != before {
            store.put(table, path, &mut object);
        }
        if is_namespace && !was_terminating {
            self.empty_namespace(store, path, queue);
        }
        if options.propagation == Propagation::Foreground {
            // Waits only for direct dependents; theirs are deleted in the background, so that a long chain of owners
            // does not recurse deeply.
            for (table, path) in dependents {
                if !store.value(&table, &path).is_some_and(|object| object::is_terminating(&object)) {
                    self.begin_deletion(store, &table, &path, &DeleteOptions::default(), queue);
                }
            }
            release(store, table, path, FOREGROUND, queue);
        }
        if options.propagation == Propagation::Orphan {
            release(store, table, path, ORPHAN, queue);
        }
        if store.value(table, path).is_some_and(|object| is_free(store, table, &object)) {
            erase(store, table, path, queue);
        }
        Deletion::Pending(object)
    }

    fn empty_namespace(&self, store: &mut Store, namespace: &str, queue: &mut RemovalQueue) {
        let prefix = format!("{namespace}/");
        let tables: Vec<TableId> = store.tables().cloned().collect();
        for table in tables {
            let paths: Vec<String> = store.scan(&table, &prefix).map(|(path, _)| path.to_owned()).collect();
            for path in paths {
                self.begin_deletion(store, &table, &path, &DeleteOptions::default(), queue);
            }
        }
    }

    /// Removes a terminating object once nothing keeps it.
    pub(super) fn finish_if_free(&self, store: &mut Store, table: &TableId, path: &str) {
        let Some(object) = store.value(table, path) else { return };
        if object::is_terminating(&object) && is_free(store, table, &object) {
            let mut queue = RemovalQueue::default();
            erase(store, table, path, &mut queue);
            self.collect(store, queue);
        }
    }

    /// Processes removed objects, and those that are removed in consequence, until none is left.
    pub(super) fn collect(&self, store: &mut Store, mut queue: RemovalQueue) {
        while let Some((table, object)) = queue.removed.pop() {
            for (table, path) in store.dependents(object::uid(&object)) {
                self.lose_owner(store, &table, &path, object::uid(&object), &mut queue);
            }
            if &*table == DEFINITIONS {
                self.drop_definition(store, &object, &mut queue);
            }
            let waiting = self.waiting_owners(store, &object);
            for (table, path) in waiting {
                release(store, &table, &path, FOREGROUND, &mut queue);
            }
            let namespace = object::namespace(&object);
            let ends = store
                .value("namespaces", namespace)
                .is_some_and(|found| object::is_terminating(&found) && is_free(store, "namespaces", &found));
            if ends {
                erase(store, &table_id("", "namespaces"), namespace, &mut queue);
            }
        }
    }

    /// Handles the removal of an owner: a dependent without another owner is deleted too.
    fn lose_owner(
        &self,
        store: &mut Store,
        table: &TableId,
        path: &str,
        owner: &str,
        queue: &mut RemovalQueue,
    ) {
        let Some(object) = store.value(table, path) else { return };
        let others = object::list(&object, "/metadata/ownerReferences")
            .iter()
            .any(|reference| text(reference, "/uid") != owner);
        if others {
            orphan(store, &[(table.clone(), path.into())], owner);
        } else if !object::is_terminating(&object) {
            self.begin_deletion(store, table, path, &DeleteOptions::default(), queue);
        }
    }

    /// Owners of a removed object that wait in foreground deletion for their dependents.
    fn waiting_owners(&self, store: &Store, object: &Value) -> Vec<(TableId, String)> {
        let catalogue = self.catalogue();
        let mut owners = Vec::new();
        for reference in object::list(object, "/metadata/ownerReferences") {
            let Some(resource) = catalogue.by_kind(text(reference, "/apiVersion"), text(reference, "/kind"))
            else {
                continue;
            };
            let path = resource.path(object::namespace(object), text(reference, "/name"));
            let Some(owner) = store.value(&resource.storage, &path) else { continue };
            if object::finalizers(&owner).iter().any(|finalizer| finalizer == FOREGROUND) {
                owners.push((resource.storage.clone(), path));
            }
        }
        owners
    }

    /// Removes all objects of a deleted definition and ends their watches.
    fn drop_definition(&self, store: &mut Store, definition: &Value, queue: &mut RemovalQueue) {
        let table = table_id(text(definition, "/spec/group"), text(definition, "/spec/names/plural"));
        if !Catalogue::is_builtin(&table) {
            let paths: Vec<String> = store.scan(&table, "").map(|(path, _)| path.to_owned()).collect();
            for path in paths {
                erase(store, &table, &path, queue);
            }
            store.close(&table);
        }
        self.refresh_catalogue(store);
    }
}

/// Removes an object from the store.
fn erase(store: &mut Store, table: &TableId, path: &str, queue: &mut RemovalQueue) -> Value {
    let object = store.remove(table, path).unwrap_or_default();
    queue.removed.push((table.clone(), object.clone()));
    object
}

/// Removes a propagation finalizer from an owner once it has no dependents.
fn release(store: &mut Store, table: &TableId, path: &str, way: &str, queue: &mut RemovalQueue) {
    let Some(mut owner) = store.value(table, path) else { return };
    if !store.dependents(object::uid(&owner)).is_empty() {
        return;
    }
    let rest: Vec<String> =
        object::finalizers(&owner).into_iter().filter(|finalizer| finalizer != way).collect();
    let rest = if rest.is_empty() { Value::Null } else { json!(rest) };
    object::assign(metadata(&mut owner), "finalizers", rest);
    store.put(table, path, &mut owner);
    if is_free(store, table, &owner) {
        erase(store, table, path, queue);
    }
}

/// Removes the references to an owner from its dependents.
fn orphan(store: &mut Store, dependents: &[(TableId, Box<str>)], owner: &str) {
    for (table, path) in dependents {
        let Some(mut object) = store.value(table, path) else { continue };
        let rest: Vec<Value> = object::list(&object, "/metadata/ownerReferences")
            .iter()
            .filter(|reference| text(reference, "/uid") != owner)
            .cloned()
            .collect();
        let rest = if rest.is_empty() { Value::Null } else { Value::Array(rest) };
        object::assign(metadata(&mut object), "ownerReferences", rest);
        store.put(table, path, &mut object);
    }
}

/// Whether a namespace still contains objects.
pub(super) fn has_content(store: &Store, namespace: &str) -> bool {
    let prefix = format!("{namespace}/");
    store.tables().any(|table| store.scan(table, &prefix).next().is_some())
}

fn meta_generation(object: &Value) -> bool {
    object.pointer("/metadata/generation").is_some()
}
