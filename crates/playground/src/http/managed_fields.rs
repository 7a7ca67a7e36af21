//! Field ownership: `metadata.managedFields`.
//!
//! Every write by a client is recorded. In-process controllers write without a record, which keeps a thousand clusters
//! small. Fields are sets of paths whose elements are those of `FieldsV1`: `f:spec`, `k:{"name":"a"}`, `v:"x"`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::request::ApiRequest;
use super::route::RequestTarget;
use crate::catalogue::Resource;
use crate::object::{self, metadata, text};

mod paths;

pub(crate) use paths::{find, merge, paths_of, remove, spell};

/// Path of a field, as elements of `FieldsV1`.
pub(crate) type FieldPath = Vec<String>;

/// Set of fields of an object.
pub(crate) type FieldSet = BTreeSet<FieldPath>;

/// One entry of `managedFields`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ManagedFieldsEntry {
    pub(crate) manager: String,
    pub(crate) operation: String,
    pub(crate) version: String,
    pub(crate) subresource: String,
    pub(crate) time: Value,
    pub(crate) fields: FieldSet,
}

/// Records a creation.
pub(crate) fn created(call: &ApiRequest, resource: &Resource, object: &mut Value) {
    let mut full = object.clone();
    crate::admission::default(resource, &mut full);
    let fields = paths_of(&full, resource);
    let entry = ManagedFieldsEntry::new(call.field_manager(), "Update", resource, None, fields);
    write(object, vec![entry]);
}

/// Records an update: the writer becomes the only owner of the changed fields.
pub(crate) fn changed(call: &ApiRequest, target: &RequestTarget, current: &Value, wanted: &mut Value) {
    let resource = &*target.resource;
    let mut entries = read(current);
    let mut full = wanted.clone();
    crate::admission::default(resource, &mut full);
    let (before, after) = (paths_of(current, resource), paths_of(&full, resource));
    let written: FieldSet =
        after.iter().filter(|path| find(current, path) != find(&full, path)).cloned().collect();
    let gone: FieldSet = before.difference(&after).cloned().collect();
    for entry in &mut entries {
        entry.fields.retain(|path| !written.contains(path) && !gone.contains(path));
    }
    if !written.is_empty() {
        let subresource = target.subresource.as_deref();
        let new = ManagedFieldsEntry::new(call.field_manager(), "Update", resource, subresource, written);
        match entries.iter_mut().find(|entry| entry.is_same(&new)) {
            Some(entry) => {
                entry.fields.extend(new.fields);
                entry.time = new.time;
            }
            None => entries.push(new),
        }
    }
    write(wanted, entries);
}

pub(crate) fn read(object: &Value) -> Vec<ManagedFieldsEntry> {
    object::list(object, "/metadata/managedFields").iter().map(ManagedFieldsEntry::parse).collect()
}

pub(crate) fn write(object: &mut Value, entries: Vec<ManagedFieldsEntry>) {
    let entries: Vec<Value> =
        entries.into_iter().filter(|entry| !entry.fields.is_empty()).map(|entry| entry.to_value()).collect();
    let value = if entries.is_empty() { Value::Null } else { Value::Array(entries) };
    object::assign(metadata(object), "managedFields", value);
}

// === impl ManagedFieldsEntry ===

impl ManagedFieldsEntry {
    pub(crate) fn new(
        manager: String,
        operation: &str,
        resource: &Resource,
        subresource: Option<&str>,
        fields: FieldSet,
    ) -> Self {
        Self {
            manager,
            operation: operation.to_owned(),
            version: resource.api_version(),
            subresource: subresource.unwrap_or_default().to_owned(),
            time: object::now().into(),
            fields,
        }
    }

    /// Whether two entries have the same manager, operation, subresource and API version; the API server merges those.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && self.version == other.version
    }

    fn parse(entry: &Value) -> Self {
        let word = |field: &str| text(entry, &format!("/{field}")).to_owned();
        let mut fields = FieldSet::new();
        if let Some(Value::Object(tree)) = entry.get("fieldsV1") {
            collect(tree, &mut Vec::new(), &mut fields);
        }
        Self {
            manager: word("manager"),
            operation: word("operation"),
            version: word("apiVersion"),
            subresource: word("subresource"),
            time: entry.get("time").cloned().unwrap_or_default(),
            fields,
        }
    }

    fn to_value(&self) -> Value {
        let mut tree = Map::new();
        for path in &self.fields {
            plant(&mut tree, path);
        }
        let mut entry = json!({
            "manager": self.manager, "operation": self.operation, "apiVersion": self.version, "time": self.time,
            "fieldsType": "FieldsV1", "fieldsV1": tree,
        });
        if !self.subresource.is_empty() {
            object::fields(&mut entry).insert("subresource".into(), self.subresource.clone().into());
        }
        entry
    }
}

/// Collects the paths of a `FieldsV1` tree.
fn collect(tree: &Map<String, Value>, path: &mut FieldPath, fields: &mut FieldSet) {
    for (part, below) in tree {
        if part == "." {
            fields.insert(path.clone());
            continue;
        }
        path.push(part.clone());
        match below {
            Value::Object(below) if !below.is_empty() => collect(below, path, fields),
            _ => drop(fields.insert(path.clone())),
        }
        path.pop();
    }
}

/// Inserts a path into a `FieldsV1` tree. Paths come in order, so a parent comes before its children.
fn plant(tree: &mut Map<String, Value>, path: &[String]) {
    let Some((first, rest)) = path.split_first() else { return };
    let known = tree.contains_key(first);
    let below = object::fields(tree.entry(first).or_insert(Value::Null));
    if rest.is_empty() {
        return;
    }
    // A leaf that gets children becomes a member itself.
    if known && below.is_empty() {
        below.insert(".".into(), json!({}));
    }
    plant(below, rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_being_written_and_read() {
        let tree = json!({
            "f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:image": {}, "f:name": {}}}},
        });
        let entry = json!({
            "manager": "m", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1", "fieldsV1": tree,
        });
        let object = json!({"metadata": {"managedFields": [entry]}});
        let mut copy = json!({});
        write(&mut copy, read(&object));
        assert_eq!(copy, object);
    }
}
