//! The scale subresource: replicas of any scalable kind.

use http::Response;
use serde_json::{Value, json};

use super::managed_fields;
use super::patch;
use super::request::ApiRequest;
use super::respond;
use super::route::RequestTarget;
use super::update::{check_name, edit};
use crate::catalogue::{Resource, ScalePaths};
use crate::cluster::Body;
use crate::object::{self, text};
use crate::selector::structured_text;
use crate::status::{Cause, Status};

pub(crate) fn scale(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let resource = &target.resource;
    if target.verb == "get" {
        let object = call.cluster.object(resource, &target.namespace, &target.name)?;
        return respond::json(&scale_of(resource, &object));
    }
    let object = call.cluster.edit(edit(call, target), |current| {
        let old = scale_of(resource, current);
        let new = match target.verb {
            "patch" => patch::apply_to(call, target, &old)?,
            _ => call.object("Scale")?,
        };
        check_name(target, &new)?;
        let version = object::resource_version(&new);
        if !version.is_empty() && version != object::resource_version(current) {
            return Err(Status::stale(resource, &target.name));
        }
        let replicas = new.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
        if replicas < 0 {
            let cause =
                Cause::invalid("spec.replicas", &replicas.into(), "must be greater than or equal to 0");
            return Err(Status::invalid(&scale_resource(resource), &target.name, &[cause]));
        }
        if i32::try_from(replicas).is_err() {
            return Err(Status::bad_request(format!(
                "json: cannot unmarshal number {replicas} into Go struct field ScaleSpec.spec.replicas of type int32"
            )));
        }
        let mut wanted = current.clone();
        write(&mut wanted, &paths(resource).spec, replicas.into());
        managed_fields::changed(call, target, current, &mut wanted);
        Ok(wanted)
    })?;
    respond::json(&scale_of(resource, &object))
}

/// Resource for error messages, which name the kind `Scale`.
fn scale_resource(resource: &Resource) -> Resource {
    Resource { kind: "Scale".into(), group: "autoscaling".into(), ..resource.clone() }
}

fn paths(resource: &Resource) -> ScalePaths {
    match resource.custom.as_ref().and_then(|custom| custom.scale.clone()) {
        Some(paths) => paths,
        None => ScalePaths {
            spec: "/spec/replicas".into(),
            status: "/status/replicas".into(),
            selector: Some("/spec/selector".into()),
        },
    }
}

fn scale_of(resource: &Resource, object: &Value) -> Value {
    let paths = paths(resource);
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
    let selector = match paths.selector.as_deref().and_then(|pointer| object.pointer(pointer)) {
        Some(Value::String(text)) => text.clone(),
        // Replication controllers have a plain map of labels.
        Some(selector) if resource.kind == "ReplicationController" => {
            structured_text(&json!({"matchLabels": selector}))
        }
        Some(selector) => structured_text(selector),
        None => String::new(),
    };
    let mut meta = json!({"name": object::name(object)});
    for field in ["namespace", "uid", "resourceVersion", "creationTimestamp"] {
        let value = text(object, &format!("/metadata/{field}"));
        if !value.is_empty() {
            object::fields(&mut meta).insert(field.into(), value.into());
        }
    }
    let mut status = json!({"replicas": number(&paths.status)});
    if !selector.is_empty() {
        object::fields(&mut status).insert("selector".into(), selector.into());
    }
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta,
        "spec": {"replicas": number(&paths.spec)}, "status": status,
    })
}

/// Sets the value at a pointer of object keys and creates missing objects on the way.
fn write(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for part in pointer.split('/').filter(|part| !part.is_empty()) {
        place = object::fields(place).entry(part).or_insert(Value::Null);
    }
    *place = value;
}
