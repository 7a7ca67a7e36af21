//! Deleting objects.

use http::Response;
use serde_json::{Value, json};

use super::list;
use super::protobuf;
use super::request::{ApiRequest, BodyEncoding, parse};
use super::respond;
use super::route::RequestTarget;
use crate::catalogue::Resource;
use crate::cluster::Body;
use crate::cluster::{DeleteOptions, Deletion, Propagation};
use crate::convert;
use crate::object::{self, text};
use crate::status::{Cause, Status};

pub(crate) fn delete(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let options = options(call)?;
    let resource = &target.resource;
    match call.cluster.retire(resource, &target.namespace, &target.name, &options)? {
        Deletion::Done(last) if !returns_object(resource) => {
            respond::json(&respond::deleted(resource, &last))
        }
        Deletion::Done(object) | Deletion::Pending(object) => respond::object(call, resource, 200, &object),
    }
}

/// Whether the response to a deletion is the last state of the object.
fn returns_object(resource: &Resource) -> bool {
    resource.custom.is_none()
        && matches!(
            resource.kind.as_str(),
            "Pod"
                | "PersistentVolume"
                | "PersistentVolumeClaim"
                | "PodTemplate"
                | "ResourceQuota"
                | "Service"
                | "ServiceAccount"
        )
}

pub(crate) fn delete_collection(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let options = options(call)?;
    let resource = &target.resource;
    let mut deleted = Vec::new();
    for item in list::selected(call, target)? {
        let Some(object) = convert::present(resource, &item.object) else { continue };
        let (namespace, name) = (object::namespace(&object), object::name(&object));
        match call.cluster.retire(resource, namespace, name, &options) {
            Ok(Deletion::Done(object) | Deletion::Pending(object)) => deleted.push(object),
            // Another client deleted it first.
            Err(status) if status.code == 404 => {}
            Err(status) => return Err(status),
        }
    }
    let revision = call.cluster.collection(resource).revision();
    respond::json(&json!({
        "kind": resource.list_kind, "apiVersion": resource.api_version(),
        "metadata": {"resourceVersion": revision.to_string()}, "items": deleted,
    }))
}

/// Parses the options from the body, the query, or both; the body has precedence.
fn options(call: &ApiRequest) -> Result<DeleteOptions, Status> {
    let body = if call.body.is_empty() {
        Value::Null
    } else {
        let encoding = match call.content_type() {
            "application/yaml" => BodyEncoding::Yaml,
            protobuf::MEDIA_TYPE => BodyEncoding::Protobuf,
            _ => BodyEncoding::Json,
        };
        parse(&call.body, encoding).map_err(|why| {
            Status::bad_request(format!("couldn't get version/kind; json parse error: {why}"))
        })?
    };
    let mut causes = Vec::new();
    let word = |field: &str| {
        let own = text(&body, &format!("/{field}"));
        if own.is_empty() { call.query.get(field).unwrap_or_default().to_owned() } else { own.to_owned() }
    };
    let policy = word("propagationPolicy");
    let orphans =
        body.get("orphanDependents").and_then(Value::as_bool).or(call.query.flag("orphanDependents"));
    if orphans.is_some() && !policy.is_empty() {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        causes.push(Cause::invalid("propagationPolicy", &policy.as_str().into(), why));
    }
    let propagation = match policy.as_str() {
        "" if orphans == Some(true) => Propagation::Orphan,
        "" | "Background" => Propagation::Background,
        "Foreground" => Propagation::Foreground,
        "Orphan" => Propagation::Orphan,
        other => {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            causes.push(Cause::unsupported("propagationPolicy", &other.into(), &known));
            Propagation::Background
        }
    };
    let dry_runs: Vec<&str> = object::list(&body, "/dryRun").iter().filter_map(Value::as_str).collect();
    let dry_runs =
        if dry_runs.is_empty() { call.query.get("dryRun").into_iter().collect() } else { dry_runs };
    if dry_runs.iter().any(|word| *word != "All") {
        causes.push(Cause::unsupported("dryRun", &json!(dry_runs), &["All"]));
    }
    list::refuse_options("DeleteOptions", &causes)?;
    let precondition = |field: &str| {
        Some(text(&body, &format!("/preconditions/{field}")))
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    Ok(DeleteOptions {
        grace: match body.get("gracePeriodSeconds").and_then(Value::as_i64) {
            Some(seconds) => Some(seconds),
            None => call.query.number("gracePeriodSeconds")?,
        },
        propagation,
        uid: precondition("uid"),
        resource_version: precondition("resourceVersion"),
        dry_run: !dry_runs.is_empty(),
    })
}
