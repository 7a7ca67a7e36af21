//! Deletion: preconditions, grace period, finalizers, and propagation to dependents.

use serde_json::Value;

use super::garbage::RemovalQueue;
use super::{Cluster, Key};
use crate::catalogue::Resource;
use crate::convert;
use crate::object;
use crate::status::Status;
use crate::storage::Store;

/// Options of a deletion.
#[derive(Debug, Clone, Default)]
pub struct DeleteOptions {
    /// Grace period of a pod in seconds; without it, the pod's own `terminationGracePeriodSeconds`.
    pub grace: Option<i64>,
    pub propagation: Propagation,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub dry_run: bool,
}

/// Treatment of an object's dependents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents are deleted after it.
    #[default]
    Background,
    /// Dependents are deleted before it.
    Foreground,
    /// Dependents lose their owner reference and stay.
    Orphan,
}

/// Result of a deletion request.
pub(crate) enum Deletion {
    /// The object is removed; this was its last state.
    Done(Value),
    /// The object waits for its finalizers or for its grace period to end.
    Pending(Value),
}

// === impl DeleteOptions ===

impl DeleteOptions {
    /// Deletes without a grace period, as the kubelet does when a pod has stopped.
    pub fn now() -> Self {
        Self { grace: Some(0), ..Self::default() }
    }
}

// === impl Cluster ===

impl Cluster {
    /// Deletes an object at once, or marks it as terminating if it has finalizers; its dependents are deleted after it.
    /// Pods on a node get their grace period and wait for [`Cluster::delete_with`] with `DeleteOptions::now()`.
    pub fn delete(&self, key: &Key) -> Result<(), Status> {
        self.delete_with(key, &DeleteOptions::default())
    }

    pub fn delete_with(&self, key: &Key, options: &DeleteOptions) -> Result<(), Status> {
        let resource = self.resource(key)?;
        self.retire(&resource, &key.namespace, &key.name, options).map(drop)
    }

    pub(crate) fn retire(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deletion, Status> {
        if self.is_generated(resource) {
            return Err(Status::method_not_allowed());
        }
        let path = resource.path(namespace, name);
        let mut store = self.store.write();
        let Some(object) = store.value(&resource.storage, &path) else {
            return Err(Status::not_found(resource, name));
        };
        check_preconditions(resource, name, &object, options)?;
        if options.dry_run {
            drop(store);
            let mut object = object;
            convert::set_type(resource, &mut object);
            return Ok(Deletion::Done(object));
        }
        let mut queue = RemovalQueue::default();
        let mut deletion = self.begin_deletion(&mut store, &resource.storage, &path, options, &mut queue);
        self.collect(&mut store, queue);
        self.changed.notify_waiters();
        drop(store);
        let (Deletion::Done(object) | Deletion::Pending(object)) = &mut deletion;
        convert::set_type(resource, object);
        Ok(deletion)
    }
}

fn check_preconditions(
    resource: &Resource,
    name: &str,
    object: &Value,
    options: &DeleteOptions,
) -> Result<(), Status> {
    let actual = object::uid(object);
    if let Some(uid) = &options.uid
        && uid != actual
    {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({actual}). The object might have been deleted and then recreated"
        );
        return Err(precondition_failed(resource, name, &why));
    }
    let actual = object::resource_version(object);
    if let Some(version) = &options.resource_version
        && version != actual
    {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({actual}). The object might have been modified"
        );
        return Err(precondition_failed(resource, name, &why));
    }
    Ok(())
}

/// Conflict of a precondition. The real server names the kind here, not the resource.
fn precondition_failed(resource: &Resource, name: &str, why: &str) -> Status {
    let kind = match resource.group.as_str() {
        "" => resource.kind.clone(),
        group => format!("{}.{group}", resource.kind),
    };
    let mut status = Status::conflict(resource, name, why);
    status.message = format!("Operation cannot be fulfilled on {kind} {name:?}: {why}");
    object::fields(&mut status.details).insert("kind".into(), resource.kind.clone().into());
    status
}

/// Grace period in seconds: pods have one, other objects have none.
pub(super) fn grace(table: &str, object: &Value, options: &DeleteOptions) -> i64 {
    let phase = object::text(object, "/status/phase");
    let unbound = object::text(object, "/spec/nodeName").is_empty();
    if table != "pods" || unbound || phase == "Failed" || phase == "Succeeded" {
        return 0;
    }
    let own = object.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(30);
    // Bounded, so that the deletion timestamp can be represented.
    options.grace.unwrap_or(own).clamp(0, 10 * 365 * 24 * 3_600)
}

/// Whether neither finalizers nor a grace period keep a terminating object.
pub(super) fn is_free(store: &Store, table: &str, object: &Value) -> bool {
    let waits =
        object.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0) > 0;
    let holds_content = table == "namespaces" && super::garbage::has_content(store, object::name(object));
    object::finalizers(object).is_empty() && !waits && !holds_content
}
