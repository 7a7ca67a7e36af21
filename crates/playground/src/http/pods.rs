//! Pod subresources: eviction and binding.

use http::Response;
use serde_json::{Value, json};

use super::request::ApiRequest;
use super::respond;
use super::route::RequestTarget;
use crate::catalogue::Resource;
use crate::cluster::Body;
use crate::cluster::{DeleteOptions, Key, ObjectPart, ObjectUpdate};
use crate::object::{self, child, list, text};
use crate::selector::structured_matches;
use crate::status::Status;

pub(crate) fn evict(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let eviction = call.object("Eviction")?;
    if object::name(&eviction) != target.name {
        return Err(Status::bad_request("name in URL does not match name in Eviction object"));
    }
    let pod = call.cluster.object(&target.resource, &target.namespace, &target.name)?;
    let dry_run = call.dry_run() || !list(&eviction, "/deleteOptions/dryRun").is_empty();
    for budget in call.cluster.list("policy", "poddisruptionbudgets", Some(&target.namespace)) {
        let selector = budget.pointer("/spec/selector").unwrap_or(&Value::Null);
        let labels = pod.pointer("/metadata/labels").unwrap_or(&Value::Null);
        if !selector.is_null() && structured_matches(selector, labels) {
            spend(call, &budget, dry_run)?;
        }
    }
    if !dry_run {
        announce(call, target)?;
    }
    let options = DeleteOptions {
        grace: eviction.pointer("/deleteOptions/gracePeriodSeconds").and_then(Value::as_i64),
        dry_run,
        ..DeleteOptions::default()
    };
    call.cluster.retire(&target.resource, &target.namespace, &target.name, &options)?;
    let done =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    respond::coded(201, &done)
}

/// Decrements `disruptionsAllowed`, so that the next eviction sees it before the controller has counted the pods again.
fn spend(call: &ApiRequest, budget: &Value, dry_run: bool) -> Result<(), Status> {
    let name = object::name(budget);
    let count = |budget: &Value, pointer: &str| budget.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
    if count(budget, "/status/observedGeneration") < count(budget, "/metadata/generation") {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(over_budget(&why, Some(10)));
    }
    let mut left = count(budget, "/status/disruptionsAllowed");
    if left > 0 && !dry_run {
        let key = Key::new("policy", "poddisruptionbudgets", object::namespace(budget), name);
        call.cluster.update(&key, |budget| {
            left = count(budget, "/status/disruptionsAllowed");
            if left > 0 {
                child(budget, "status").insert("disruptionsAllowed".into(), (left - 1).into());
            }
        })?;
    }
    if left > 0 {
        return Ok(());
    }
    let why = format!(
        "The disruption budget {name} needs {} healthy pods and has {} currently",
        count(budget, "/status/desiredHealthy"),
        count(budget, "/status/currentHealthy"),
    );
    Err(over_budget(&why, None))
}

/// Sets the pod condition that explains its eviction.
fn announce(call: &ApiRequest, target: &RequestTarget) -> Result<(), Status> {
    let edit = ObjectUpdate {
        resource: &target.resource,
        namespace: &target.namespace,
        name: &target.name,
        part: ObjectPart::Whole,
        dry_run: false,
    };
    call.cluster.edit(edit, |current| {
        let mut wanted = current.clone();
        let status = child(&mut wanted, "status");
        let conditions = status.entry("conditions").or_insert_with(|| json!([]));
        if let Value::Array(conditions) = conditions {
            conditions.retain(|condition| text(condition, "/type") != "DisruptionTarget");
            conditions.push(json!({
                "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": object::now(),
            }));
        }
        Ok(wanted)
    })?;
    Ok(())
}

fn over_budget(why: &str, retry_after: Option<u64>) -> Status {
    let mut details = json!({"causes": [{"reason": "DisruptionBudget", "message": why}]});
    if let Some(seconds) = retry_after {
        object::fields(&mut details).insert("retryAfterSeconds".into(), seconds.into());
    }
    Status::new(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")
        .with_details(details)
}

pub(crate) fn bind(call: &ApiRequest, target: &RequestTarget) -> Result<Response<Body>, Status> {
    let binding = call.object("Binding")?;
    let node = text(&binding, "/target/name").to_owned();
    if node.is_empty() {
        return Err(Status::bad_request("target.name: Required value"));
    }
    let resource = &target.resource;
    let edit = ObjectUpdate {
        resource,
        namespace: &target.namespace,
        name: &target.name,
        part: ObjectPart::Whole,
        dry_run: call.dry_run(),
    };
    call.cluster.edit(edit, |current| {
        let taken = text(current, "/spec/nodeName");
        if !taken.is_empty() {
            let why = format!("pod {} is already assigned to node {taken:?}", target.name);
            let binding = Resource {
                table: "pods/binding".into(),
                plural: "pods/binding".into(),
                ..(**resource).clone()
            };
            return Err(Status::conflict(&binding, &target.name, &why));
        }
        let mut wanted = current.clone();
        child(&mut wanted, "spec").insert("nodeName".into(), node.into());
        let condition = json!({
            "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": object::now(),
        });
        child(&mut wanted, "status").insert("conditions".into(), json!([condition]));
        Ok(wanted)
    })?;
    let done =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    respond::coded(201, &done)
}
