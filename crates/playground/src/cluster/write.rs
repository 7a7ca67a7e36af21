//! Creating and updating objects: names, resource versions, generations and immutable fields.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Cluster, Key};
use crate::admission;
use crate::catalogue::{DEFINITIONS, Resource};
use crate::convert;
use crate::object::{self, assign, metadata, text};
use crate::status::{Cause, Status};
use crate::storage::Store;

/// Part of an object that a write replaces; the rest stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectPart {
    /// The whole object, as in-process controllers write.
    Whole,
    /// Everything but the status, if the status is a subresource.
    Main,
    Status,
}

/// Update of one object.
#[derive(Clone, Copy)]
pub(crate) struct ObjectUpdate<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) part: ObjectPart,
    pub(crate) dry_run: bool,
}

/// Request size limit of etcd.
const MAX_SIZE: usize = 3 << 19;

/// Characters of generated names; without vowels, so that no words appear.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

// === impl Cluster ===

impl Cluster {
    /// Creates an object. `apiVersion` and `kind` determine its resource; its status is stored too.
    pub fn create(&self, object: Value) -> Result<Value, Status> {
        let (api_version, kind) = (text(&object, "/apiVersion"), text(&object, "/kind"));
        let catalogue = self.catalogue();
        let Some(resource) = catalogue.by_kind(api_version, kind) else {
            return Err(Status::bad_request(format!(
                "no kind {kind:?} is registered for version {api_version:?}"
            )));
        };
        self.insert(resource, object, false)
    }

    /// Updates an object atomically; no event results if the closure changes nothing.
    pub fn update(&self, key: &Key, change: impl FnOnce(&mut Value)) -> Result<Value, Status> {
        let resource = self.resource(key)?;
        let (namespace, name) = (key.namespace.as_str(), key.name.as_str());
        self.edit(
            ObjectUpdate { resource: &resource, namespace, name, part: ObjectPart::Whole, dry_run: false },
            |current| {
                let mut object = current.clone();
                change(&mut object);
                Ok(object)
            },
        )
    }

    /// Creates an object of a resource and returns it as stored, in the version of the resource.
    pub(crate) fn insert(
        &self,
        resource: &Resource,
        mut object: Value,
        dry_run: bool,
    ) -> Result<Value, Status> {
        convert::to_storage(resource, &mut object);
        name_it(resource, &mut object)?;
        let name = object::name(&object).to_owned();
        let namespace = object::namespace(&object).to_owned();
        admission::default(resource, &mut object);
        admission::prune(resource, &mut object);
        check_measure(&object)?;
        let causes = admission::validate(resource, &object);
        if !causes.is_empty() {
            return Err(Status::invalid(resource, &name, &causes));
        }
        let meta = metadata(&mut object);
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"] {
            meta.remove(field);
        }
        meta.insert("uid".into(), uuid::Uuid::new_v4().to_string().into());
        meta.insert("creationTimestamp".into(), object::now().into());
        meta.remove("generation");
        if admission::has_generation(resource) {
            meta.insert("generation".into(), 1.into());
        }
        let mut store = self.store.write();
        // Its definition may have been deleted since the resource was looked up.
        if resource.custom.is_some() && !store.has(&resource.storage) {
            return Err(Status::no_such_path());
        }
        if resource.is_namespaced() {
            namespace_accepts(&store, resource, &namespace, &name)?;
        }
        let path = resource.path(&namespace, &name);
        if store.get(&resource.storage, &path).is_some() {
            return Err(Status::already_exists(resource, &name));
        }
        admission::allocate(resource, &mut object, &store)?;
        if !dry_run {
            store.put(&resource.storage, &path, &mut object);
            self.after_write(&mut store, resource);
        }
        drop(store);
        convert::set_type(resource, &mut object);
        Ok(object)
    }

    /// Updates an object atomically, by a closure from the current state to the wanted one.
    pub(crate) fn edit(
        &self,
        edit: ObjectUpdate<'_>,
        change: impl FnOnce(&Value) -> Result<Value, Status>,
    ) -> Result<Value, Status> {
        let ObjectUpdate { resource, namespace, name, part, dry_run } = edit;
        if self.is_generated(resource) {
            return Err(Status::method_not_allowed());
        }
        let path = resource.path(namespace, name);
        let mut store = self.store.write();
        let Some(stored) = store.value(&resource.storage, &path) else {
            return Err(Status::not_found(resource, name));
        };
        let mut current = stored.clone();
        convert::set_type(resource, &mut current);
        let mut wanted = change(&current)?;
        convert::to_storage(resource, &mut wanted);
        keep(resource, part, &stored, &mut wanted);
        admission::default(resource, &mut wanted);
        admission::prune(resource, &mut wanted);
        check_measure(&wanted)?;
        let mut causes = admission::validate(resource, &wanted);
        causes.extend(admission::validate_change(resource, &stored, &wanted));
        if !causes.is_empty() {
            return Err(Status::invalid(resource, name, &causes));
        }
        admission::allocate(resource, &mut wanted, &store)?;
        strip_type(&mut wanted);
        if part != ObjectPart::Status
            && admission::has_generation(resource)
            && counts(resource, &stored, &wanted)
        {
            let generation = stored.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
            metadata(&mut wanted).insert("generation".into(), (generation + 1).into());
        }
        if !same(&stored, &wanted) && !dry_run {
            store.put(&resource.storage, &path, &mut wanted);
            self.after_write(&mut store, resource);
            if object::is_terminating(&wanted) {
                self.finish_if_free(&mut store, &resource.storage, &path);
            }
        } else if !dry_run {
            wanted = stored;
        }
        drop(store);
        convert::set_type(resource, &mut wanted);
        Ok(wanted)
    }

    /// Follow-up of every write: definitions change the catalogue, subscribers wake.
    pub(super) fn after_write(&self, store: &mut Store, resource: &Resource) {
        if resource.is(DEFINITIONS) {
            self.refresh_catalogue(store);
        }
        self.changed.notify_waiters();
    }

    /// Finds the resource of an object by its type.
    pub(crate) fn resource_of(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        self.catalogue().by_kind(api_version, kind).cloned()
    }
}

/// Rejects objects that are too deep to be parsed again, or too large.
fn check_measure(object: &Value) -> Result<(), Status> {
    if object::depth(object) > object::MAX_DEPTH {
        return Err(Status::bad_request("the object is nested too deeply"));
    }
    let mut size = ByteCounter(0);
    // Writing to a counter does not fail.
    if serde_json::to_writer(&mut size, object).is_err() || size.0 > MAX_SIZE {
        return Err(Status::new(500, "", "etcdserver: request is too large"));
    }
    Ok(())
}

/// Counts the bytes written to it.
struct ByteCounter(usize);

impl std::io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Ensures that an object has a name, generated from `generateName` if necessary.
fn name_it(resource: &Resource, object: &mut Value) -> Result<(), Status> {
    let prefix = text(object, "/metadata/generateName").to_owned();
    if object::name(object).is_empty() {
        if prefix.is_empty() {
            let cause = Cause::required("metadata.name", "name or generateName is required");
            return Err(Status::invalid(resource, "", &[cause]));
        }
        // The real server truncates so that the name fits a label.
        let head: String = prefix.chars().take(58).collect();
        let tail: String =
            (0..5).filter_map(|_| fastrand::choice(LETTERS)).map(|&letter| char::from(letter)).collect();
        metadata(object).insert("name".into(), format!("{head}{tail}").into());
    }
    if resource.is_namespaced() && object::namespace(object).is_empty() {
        metadata(object).insert("namespace".into(), "default".into());
    }
    if !resource.is_namespaced() {
        metadata(object).remove("namespace");
    }
    Ok(())
}

fn namespace_accepts(store: &Store, resource: &Resource, namespace: &str, name: &str) -> Result<(), Status> {
    let Some(found) = store.value("namespaces", namespace) else {
        let message = format!("namespaces {namespace:?} not found");
        let details = json!({"name": namespace, "kind": "namespaces"});
        return Err(Status::new(404, "NotFound", message).with_details(details));
    };
    if !object::is_terminating(&found) {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let mut status = Status::forbidden(resource, name, &why);
    let cause = json!({"reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"), "field": "metadata.namespace"});
    object::fields(&mut status.details).insert("causes".into(), json!([cause]));
    Err(status)
}

/// Restores the fields that this write may not change.
fn keep(resource: &Resource, part: ObjectPart, stored: &Value, wanted: &mut Value) {
    let has_status = resource.subresource("status").is_some();
    if part == ObjectPart::Status {
        let status = wanted.get("status").cloned().unwrap_or_default();
        let annotations = wanted.pointer("/metadata/annotations").cloned().unwrap_or_default();
        let managed = wanted.pointer("/metadata/managedFields").cloned().unwrap_or_default();
        *wanted = stored.clone();
        assign(object::fields(wanted), "status", status);
        let meta = metadata(wanted);
        if resource.custom.is_none() {
            assign(meta, "annotations", annotations);
        }
        assign(meta, "managedFields", managed);
    } else if part == ObjectPart::Main && has_status {
        assign(object::fields(wanted), "status", stored.get("status").cloned().unwrap_or_default());
    }
    let old = stored.get("metadata").cloned().unwrap_or_default();
    let meta = metadata(wanted);
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
    ] {
        assign(meta, field, old.get(field).cloned().unwrap_or_default());
    }
    for (container, empty) in [
        ("labels", json!({})),
        ("annotations", json!({})),
        ("finalizers", json!([])),
        ("ownerReferences", json!([])),
    ] {
        if meta.get(container).is_some_and(|value| *value == empty || value.is_null()) {
            meta.remove(container);
        }
    }
}

fn strip_type(object: &mut Value) {
    let fields = object::fields(object);
    fields.remove("apiVersion");
    fields.remove("kind");
}

/// Whether an update increments `metadata.generation`.
fn counts(resource: &Resource, stored: &Value, wanted: &Value) -> bool {
    let annotations = |object: &Value| object.pointer("/metadata/annotations").cloned();
    // A change of a Deployment's annotations counts too, since controllers read them.
    let deployment = resource.is("deployments.apps") && annotations(stored) != annotations(wanted);
    deployment || spec_differs(stored, wanted)
}

fn spec_differs(stored: &Value, wanted: &Value) -> bool {
    let (Value::Object(stored), Value::Object(wanted)) = (stored, wanted) else { return true };
    let rest = |key: &&String| !matches!(key.as_str(), "metadata" | "status" | "apiVersion" | "kind");
    stored.keys().chain(wanted.keys()).filter(rest).any(|key| stored.get(key) != wanted.get(key))
}

/// Whether two states are equal apart from `managedFields`.
fn same(stored: &Value, wanted: &Value) -> bool {
    if stored == wanted {
        return true;
    }
    let bare = |object: &Value| {
        let mut bare = object.clone();
        for entry in object::list(object, "/metadata/managedFields").iter().enumerate() {
            if let Some(entry) = bare.pointer_mut(&format!("/metadata/managedFields/{}", entry.0)) {
                object::fields(entry).remove("time");
            }
        }
        bare
    };
    bare(stored) == bare(wanted)
}
