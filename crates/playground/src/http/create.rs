//! Creating objects.

use http::Response;
use serde_json::Value;

use super::managed_fields;
use super::request::ApiRequest;
use super::respond;
use super::route::RequestTarget;
use crate::catalogue::Resource;
use crate::cluster::Body;
use crate::object::{self, metadata, text};
use crate::status::Status;

pub(crate) fn create(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    call.check_dry_run("CreateOptions")?;
    let resource = &target.resource;
    let mut object = call.object(&resource.kind)?;
    check_type(call, resource, &mut object)?;
    check_namespace(target, &mut object)?;
    if !object::resource_version(&object).is_empty() {
        return Err(Status::new(500, "", "resourceVersion should not be set on objects to be created"));
    }
    if call.cluster.is_generated(resource) {
        return Err(Status::method_not_allowed());
    }
    if resource.subresource("status").is_some() {
        object::fields(&mut object).remove("status");
    }
    let unknown = call.drop_unknown_fields(resource, &mut object)?;
    managed_fields::created(call, resource, &mut object);
    let object = call.cluster.insert(resource, object, call.dry_run())?;
    Ok(respond::warned(respond::object(call, resource, 201, &object)?, &unknown))
}

/// Checks that the body has the type of the path, or sets it if absent.
pub(crate) fn check_type(call: &ApiRequest, resource: &Resource, object: &mut Value) -> Result<(), Status> {
    let (version, kind) = (text(object, "/apiVersion").to_owned(), text(object, "/kind").to_owned());
    let wanted = resource.api_version();
    if resource.custom.is_some() {
        return check_custom_type(resource, object, &wanted);
    }
    if !kind.is_empty() && kind != resource.kind || !version.is_empty() && version != wanted {
        let head =
            format!("{kind} in version {:?} cannot be handled as a {}", resource.version, resource.kind);
        let known = call.cluster.resource_of(&version, &kind).is_some();
        let why = if known {
            let go = |version: &str| version.rsplit('/').next().unwrap_or_default().to_owned();
            let group = if resource.group.is_empty() {
                "core"
            } else {
                resource.group.split('.').next().unwrap_or_default()
            };
            format!("converting ({}.{kind}) to ({group}.{}): unknown conversion", go(&version), resource.kind)
        } else {
            format!(
                "no kind {kind:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\""
            )
        };
        return Err(Status::bad_request(format!("{head}: {why}")));
    }
    let fields = object::fields(object);
    fields.insert("apiVersion".into(), wanted.into());
    fields.insert("kind".into(), resource.kind.clone().into());
    check_shape(resource, object)
}

fn check_custom_type(resource: &Resource, object: &Value, wanted: &str) -> Result<(), Status> {
    let (version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    if version == wanted && kind == resource.kind {
        return check_shape(resource, object);
    }
    if kind.is_empty() {
        return Err(Status::bad_request(format!("Object 'Kind' is missing in '{object}'")));
    }
    Err(Status::bad_request(if version == wanted {
        format!("the kind in the data ({kind}) does not match the expected kind ({})", resource.kind)
    } else {
        format!("the API version in the data ({version}) does not match the expected API version ({wanted})")
    }))
}

/// Rejects type errors that later steps rely on not to occur.
fn check_shape(resource: &Resource, object: &Value) -> Result<(), Status> {
    let wrong = |found: &str, field: &str, wanted: &str| {
        Status::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: json: cannot unmarshal {found} into Go struct field {}.{field} of type {wanted}",
            resource.kind, resource.version, resource.kind, resource.kind
        ))
    };
    let meta = object.get("metadata").unwrap_or(&Value::Null);
    if !meta.is_null() && !meta.is_object() {
        return Err(wrong(type_name(meta), "metadata", "v1.ObjectMeta"));
    }
    for field in ["name", "namespace", "generateName", "resourceVersion", "uid"] {
        match meta.get(field) {
            None | Some(Value::Null | Value::String(_)) => {}
            Some(other) => return Err(wrong(type_name(other), &format!("metadata.{field}"), "string")),
        }
    }
    for field in ["labels", "annotations"] {
        check_map(meta.get(field), |found| wrong(found, &format!("metadata.{field}"), "string"))?;
    }
    if resource.kind == "ConfigMap" {
        check_map(object.get("data"), |found| wrong(found, "data", "string"))?;
    }
    for field in ["spec", "status"] {
        let value = object.get(field).unwrap_or(&Value::Null);
        if resource.custom.is_none() && !value.is_null() && !value.is_object() {
            return Err(wrong(type_name(value), field, &format!("v1.{}Spec", resource.kind)));
        }
    }
    Ok(())
}

fn check_map(map: Option<&Value>, wrong: impl Fn(&str) -> Status) -> Result<(), Status> {
    match map {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(entries)) => {
            let odd = entries.values().find(|value| !value.is_string() && !value.is_null());
            odd.map_or(Ok(()), |value| Err(wrong(type_name(value))))
        }
        Some(other) => Err(wrong(type_name(other))),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Sets the namespace of the path; that of the body may not differ.
pub(crate) fn check_namespace(target: &RequestTarget, object: &mut Value) -> Result<(), Status> {
    let own = object::namespace(object);
    if !target.resource.is_namespaced() {
        metadata(object).remove("namespace");
        return Ok(());
    }
    if !own.is_empty() && own != target.namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Status::bad_request(message));
    }
    metadata(object).insert("namespace".into(), target.namespace.clone().into());
    Ok(())
}
