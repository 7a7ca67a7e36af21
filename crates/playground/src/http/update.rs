//! Replacing objects.

use http::Response;
use serde_json::Value;

use super::create::{check_namespace, check_type};
use super::managed_fields;
use super::request::ApiRequest;
use super::respond;
use super::route::RequestTarget;
use crate::catalogue::Resource;
use crate::cluster::Body;
use crate::cluster::{ObjectPart, ObjectUpdate};
use crate::object;
use crate::status::{Cause, Status};

pub(crate) fn update(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    call.check_dry_run("UpdateOptions")?;
    let resource = &target.resource;
    let mut wanted = call.object(&resource.kind)?;
    check_type(call, resource, &mut wanted)?;
    check_namespace(target, &mut wanted)?;
    check_name(target, &wanted)?;
    let unknown = call.drop_unknown_fields(resource, &mut wanted)?;
    let object = call.cluster.edit(edit(call, target), |current| {
        check_identity(resource, &target.name, current, &wanted)?;
        managed_fields::changed(call, target, current, &mut wanted);
        Ok(wanted)
    })?;
    Ok(respond::warned(respond::object(call, resource, 200, &object)?, &unknown))
}

/// Update of a request.
pub(crate) fn edit<'a>(call: &ApiRequest, target: &'a RequestTarget) -> ObjectUpdate<'a> {
    let part = match target.subresource.as_deref() {
        Some("status") => ObjectPart::Status,
        _ => ObjectPart::Main,
    };
    ObjectUpdate {
        resource: &target.resource,
        namespace: &target.namespace,
        name: &target.name,
        part,
        dry_run: call.dry_run(),
    }
}

pub(crate) fn check_name(target: &RequestTarget, wanted: &Value) -> Result<(), Status> {
    let (own, name) = (object::name(wanted), target.name.as_str());
    if own == name {
        return Ok(());
    }
    Err(Status::bad_request(if own.is_empty() {
        format!("the name of the object ({name} based on URL) was undeterminable: name must be provided")
    } else {
        format!("the name of the object ({own}) does not match the name on the URL ({name})")
    }))
}

/// Checks that resource version and uid, if set, equal the stored ones.
fn check_identity(resource: &Resource, name: &str, current: &Value, wanted: &Value) -> Result<(), Status> {
    let (uid, stored) = (object::uid(wanted), object::uid(current));
    if !uid.is_empty() && uid != stored {
        let key = match object::namespace(current) {
            "" => format!("/registry/{}/{name}", resource.plural),
            namespace => format!("/registry/{}/{namespace}/{name}", resource.plural),
        };
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {stored}"
        );
        return Err(Status::conflict(resource, name, &why));
    }
    check_version(resource, name, current, wanted)
}

pub(crate) fn check_version(
    resource: &Resource,
    name: &str,
    current: &Value,
    wanted: &Value,
) -> Result<(), Status> {
    let version = object::resource_version(wanted);
    if version.is_empty() {
        // Updates of definitions and custom resources require a resource version.
        let strict = resource.custom.is_some() || resource.kind == "CustomResourceDefinition";
        if strict {
            let why = "must be specified for an update";
            let cause = Cause::invalid("metadata.resourceVersion", &0.into(), why);
            // The real server uses the plural instead of the kind here.
            let plural = Resource { kind: resource.plural.clone(), ..resource.clone() };
            return Err(Status::invalid(&plural, name, &[cause]));
        }
        return Ok(());
    }
    if version.parse::<u64>().is_err() {
        let why = format!("strconv.ParseUint: parsing {version:?}: invalid syntax");
        return Err(Status::new(500, "", why));
    }
    if version == object::resource_version(current) { Ok(()) } else { Err(Status::stale(resource, name)) }
}
