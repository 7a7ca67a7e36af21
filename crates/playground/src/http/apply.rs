//! Server-side apply: a manager applies the fields that it wants, and owns exactly these afterwards.

use http::Response;
use serde_json::{Value, json};

use super::create::{check_namespace, check_type};
use super::managed_fields::{self, FieldPath, FieldSet, ManagedFieldsEntry};
use super::request::{ApiRequest, BodyEncoding, parse};
use super::respond;
use super::route::RequestTarget;
use super::update::{check_name, edit};
use crate::builtin_schema;
use crate::catalogue::Resource;
use crate::cluster::Body;
use crate::object::{self, metadata};
use crate::status::{Cause, Status};

pub(crate) fn apply(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    call.check_dry_run("PatchOptions")?;
    let resource = &target.resource;
    let applied = read(call, target)?;
    let manager = call.query.get("fieldManager").unwrap_or_default().to_owned();
    let force = call.query.flag("force") == Some(true);
    // Retries once if another client created it in between.
    for _ in 0..2 {
        let edited = call.cluster.edit(edit(call, target), |current| {
            let version = object::resource_version(&applied);
            if !version.is_empty() && version != object::resource_version(current) {
                return Err(Status::stale(resource, &target.name));
            }
            merged(target, current, &applied, &manager, force)
        });
        match edited {
            Err(status) if status.code == 404 && target.subresource.is_none() => {}
            edited => return respond::object(call, resource, 200, &edited?),
        }
        if !object::uid(&applied).is_empty() {
            let why = "uid mismatch: the provided object specified uid and no existing object was found";
            return Err(Status::conflict(resource, &target.name, why));
        }
        match call.cluster.insert(resource, fresh(target, &applied, &manager), call.dry_run()) {
            Err(status) if status.reason == "AlreadyExists" => {}
            created => return respond::object(call, resource, 201, &created?),
        }
    }
    Err(Status::stale(resource, &target.name))
}

fn read(call: &ApiRequest, target: &RequestTarget) -> Result<Value, Status> {
    if call.query.get("fieldManager").is_none() {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        return Err(Status::invalid_options("PatchOptions", &[cause]));
    }
    let mut applied = parse(&call.body, BodyEncoding::Yaml)
        .map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?;
    if object::text(&applied, "/apiVersion").is_empty() || object::text(&applied, "/kind").is_empty() {
        let (version, kind) = (object::text(&applied, "/apiVersion"), object::text(&applied, "/kind"));
        return Err(Status::bad_request(format!("invalid object type: /{version}, Kind={kind}")));
    }
    check_type(call, &target.resource, &mut applied)?;
    if object::name(&applied).is_empty() {
        metadata(&mut applied).insert("name".into(), target.name.clone().into());
    }
    check_name(target, &applied)?;
    check_fields(&target.resource, &mut applied)?;
    check_namespace(target, &mut applied)?;
    if applied.pointer("/metadata/managedFields").is_some_and(|fields| !fields.is_null()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    Ok(applied)
}

/// Rejects unknown fields: an applied field must have an owner.
fn check_fields(resource: &Resource, applied: &mut Value) -> Result<(), Status> {
    if resource.custom.is_some() {
        return Ok(());
    }
    let place = format!("{}/{}", object::text(applied, "/metadata/namespace"), object::name(applied));
    let refused = |why: &str| {
        let Resource { kind, .. } = resource;
        let group_version = if resource.group.is_empty() { "/v1".to_owned() } else { resource.api_version() };
        let what = format!("failed to create typed patch object ({place}; {group_version}, Kind={kind})");
        Status::new(500, "", format!("{what}: {why}"))
    };
    let unknown = builtin_schema::fit(&resource.api_version(), &resource.kind, applied);
    match unknown.map_err(|misfit| refused(&misfit.to_string()))?.first() {
        Some(path) => Err(refused(&format!(".{path}: field not declared in schema"))),
        None => Ok(()),
    }
}

/// Object that an apply creates.
fn fresh(target: &RequestTarget, applied: &Value, manager: &str) -> Value {
    let resource = &*target.resource;
    let mut object = applied.clone();
    metadata(&mut object).remove("resourceVersion");
    if resource.subresource("status").is_some() {
        object::fields(&mut object).remove("status");
    }
    let fields = managed_fields::paths_of(&object, resource);
    let subresource = target.subresource.as_deref();
    managed_fields::write(
        &mut object,
        vec![ManagedFieldsEntry::new(manager.to_owned(), "Apply", resource, subresource, fields)],
    );
    object
}

fn merged(
    target: &RequestTarget,
    current: &Value,
    applied: &Value,
    manager: &str,
    force: bool,
) -> Result<Value, Status> {
    let resource = &*target.resource;
    let mut fields = managed_fields::paths_of(applied, resource);
    if target.subresource.is_none() && resource.subresource("status").is_some() {
        fields.retain(|path| path.first().is_none_or(|part| part != "f:status"));
    }
    let mut entries = managed_fields::read(current);
    let own = ManagedFieldsEntry::new(
        manager.to_owned(),
        "Apply",
        resource,
        target.subresource.as_deref(),
        fields.clone(),
    );
    let is_own = |entry: &ManagedFieldsEntry| {
        entry.manager == own.manager && entry.operation == "Apply" && entry.subresource == own.subresource
    };
    let conflicts = conflicts(&entries, &is_own, &fields, current, applied);
    if !conflicts.is_empty() && !force {
        return Err(refusal(&conflicts));
    }
    for entry in entries.iter_mut().filter(|entry| !is_own(entry)) {
        entry.fields.retain(|path| !conflicts.iter().any(|(_, lost)| lost == path));
    }
    let mut object = current.clone();
    let keyed = resource.custom.is_none();
    managed_fields::merge(&mut object, applied, "", "", keyed);
    // Fields that this manager no longer applies are removed, unless another manager owns them.
    let before: FieldSet =
        entries.iter().filter(|entry| is_own(entry)).flat_map(|entry| entry.fields.clone()).collect();
    for path in before.difference(&fields) {
        let wanted_below = fields.iter().any(|wanted| wanted.starts_with(path));
        let others = entries
            .iter()
            .filter(|entry| !is_own(entry))
            .any(|entry| entry.fields.iter().any(|kept| kept == path || kept.starts_with(path)));
        if !wanted_below && !others {
            managed_fields::remove(&mut object, path);
        }
    }
    match entries.iter_mut().find(|entry| is_own(entry)) {
        Some(entry) if entry.fields == own.fields => entry.version = own.version,
        Some(entry) => *entry = own,
        None => entries.insert(0, own),
    }
    managed_fields::write(&mut object, entries);
    for field in ["resourceVersion", "uid"] {
        let value = current.pointer(&format!("/metadata/{field}")).cloned().unwrap_or_default();
        object::assign(metadata(&mut object), field, value);
    }
    Ok(object)
}

/// Fields with other owners whose value would change.
fn conflicts(
    entries: &[ManagedFieldsEntry],
    is_own: &impl Fn(&ManagedFieldsEntry) -> bool,
    fields: &FieldSet,
    current: &Value,
    applied: &Value,
) -> Vec<(ManagedFieldsEntry, FieldPath)> {
    let mut conflicts = Vec::new();
    for entry in entries.iter().filter(|entry| !is_own(entry)) {
        for path in fields.intersection(&entry.fields) {
            let (there, wanted) = (managed_fields::find(current, path), managed_fields::find(applied, path));
            // A list item keeps its identity whatever its fields are.
            let item = path.last().is_some_and(|part| part.starts_with("k:"));
            // An empty map does not conflict with the entries of other managers.
            let empty = wanted.and_then(Value::as_object).is_some_and(serde_json::Map::is_empty);
            if !item && !empty && there.is_some() && there != wanted {
                conflicts.push((entry.clone(), path.clone()));
            }
        }
    }
    conflicts
}

fn refusal(conflicts: &[(ManagedFieldsEntry, FieldPath)]) -> Status {
    let who = |entry: &ManagedFieldsEntry| match (entry.operation.as_str(), entry.subresource.as_str()) {
        ("Apply", _) => format!("{:?}", entry.manager),
        (_, "") => format!("{:?} using {}", entry.manager, entry.version),
        (_, part) => format!("{:?} with subresource {part:?} using {}", entry.manager, entry.version),
    };
    let causes: Vec<Value> = conflicts
        .iter()
        .map(|(entry, path)| {
            json!({"reason": "FieldManagerConflict", "message": format!("conflict with {}", who(entry)), "field": managed_fields::spell(path)})
        })
        .collect();
    let mut managers: Vec<String> = conflicts.iter().map(|(entry, _)| who(entry)).collect();
    managers.dedup();
    let mut lines = Vec::new();
    for manager in managers {
        let fields: Vec<String> = conflicts
            .iter()
            .filter(|(entry, _)| who(entry) == manager)
            .map(|(_, path)| managed_fields::spell(path))
            .collect();
        match fields.as_slice() {
            [one] => lines.push(format!("conflict with {manager}: {one}")),
            many => {
                lines.push(format!("conflicts with {manager}:"));
                lines.extend(many.iter().map(|field| format!("- {field}")));
            }
        }
    }
    let plural = if conflicts.len() == 1 { "" } else { "s" };
    let message = format!("Apply failed with {} conflict{plural}: {}", conflicts.len(), lines.join("\n"));
    Status::new(409, "Conflict", message).with_details(json!({"causes": causes}))
}
