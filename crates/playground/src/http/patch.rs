//! Changing objects by patches.

use http::Response;
use serde_json::{Value, json};
use spindrift_kubernetes::{Object, apply_json_merge};

use super::apply;
use super::create::{check_namespace, check_type};
use super::managed_fields;
use super::request::{ApiRequest, BodyEncoding, parse};
use super::respond;
use super::route::RequestTarget;
use super::update::{check_name, edit};
use crate::cluster::Body;
use crate::object;
use crate::status::{Cause, Status};

mod json;
mod schema;
mod strategic;

pub(crate) use schema::{ListKind, is_atomic_object, list_kind};

/// A patch in one of its languages.
enum Patch {
    Json(Value),
    Merge(Object),
    Strategic(Object),
}

pub(crate) fn patch(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let content_type = call.content_type();
    if matches!(content_type, "application/apply-patch+yaml" | "application/apply-patch+cbor") {
        return apply::apply(call, target);
    }
    if call.query.flag("force").is_some() {
        let cause = Cause::forbidden("force", "may not be specified for non-apply patch");
        return Err(Status::invalid_options("PatchOptions", &[cause]));
    }
    call.check_dry_run("PatchOptions")?;
    let patch = read(call, target)?;
    let resource = &target.resource;
    // The patch is valid, but its result is not.
    let unreadable = |status: Status| Status { code: 422, reason: "Invalid", ..status };
    let mut unknown = Vec::new();
    let object = call.cluster.edit(edit(call, target), |current| {
        let mut wanted = patch.apply(current)?;
        check_type(call, resource, &mut wanted).map_err(unreadable)?;
        unknown = call.drop_unknown_fields(resource, &mut wanted).map_err(unreadable)?;
        check_name(target, &wanted)?;
        check_namespace(target, &mut wanted)?;
        check_identity(target, current, &wanted)?;
        managed_fields::changed(call, target, current, &mut wanted);
        Ok(wanted)
    })?;
    Ok(respond::warned(respond::object(call, resource, 200, &object)?, &unknown))
}

/// A patch that names a version or uid is for that one only.
fn check_identity(target: &RequestTarget, current: &Value, wanted: &Value) -> Result<(), Status> {
    if object::resource_version(wanted) != object::resource_version(current) {
        return Err(Status::stale(&target.resource, &target.name));
    }
    let uid = object::uid(wanted);
    if uid != object::uid(current) {
        let cause = Cause::invalid("metadata.uid", &uid.into(), "field is immutable");
        return Err(Status::invalid(&target.resource, &target.name, &[cause]));
    }
    Ok(())
}

fn read(call: &ApiRequest, target: &RequestTarget) -> Result<Patch, Status> {
    let undecodable = |why: String| Status::bad_request(format!("error decoding patch: {why}"));
    let value = || parse(&call.body, BodyEncoding::Json).map_err(undecodable);
    let object = || {
        let Value::Object(object) = value()? else {
            return Err(undecodable("json: cannot unmarshal into a map".into()));
        };
        Ok(object)
    };
    match call.content_type() {
        "application/json-patch+json" => json::check(value()?).map(Patch::Json),
        "application/merge-patch+json" => object().map(Patch::Merge),
        "application/strategic-merge-patch+json" if target.resource.custom.is_none() => {
            object().map(Patch::Strategic)
        }
        "application/strategic-merge-patch+json" => {
            let message = "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
            Err(Status::new(415, "UnsupportedMediaType", message))
        }
        _ => {
            let status = Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
            Err(status.with_details(json!({})))
        }
    }
}

// === impl Patch ===

impl Patch {
    fn apply(&self, current: &Value) -> Result<Value, Status> {
        let object = current.as_object().cloned().unwrap_or_default();
        let patched = match self {
            Self::Json(patch) => json::apply(object, patch)?,
            Self::Merge(patch) => apply_json_merge(object, patch.clone()),
            Self::Strategic(patch) => strategic::apply(object, patch.clone())?,
        };
        Ok(patched.into())
    }
}

/// The words of the real server for a patch that cannot be applied.
fn rejected() -> Status {
    let message = "the server rejected our request due to an error in our request";
    Status::new(422, "Invalid", message).with_details(json!({}))
}

/// Applies the patch of a request to a value that is no stored object, as the scale subresource does.
pub(crate) fn apply_to(call: &ApiRequest, target: &RequestTarget, current: &Value) -> Result<Value, Status> {
    read(call, target)?.apply(current)
}
