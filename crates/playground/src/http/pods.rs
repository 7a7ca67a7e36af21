//! What is asked of pods: to go away politely, to run on a node.

use http::Response;
use serde_json::{Value, json};

use super::layer::Body;
use super::request::Call;
use super::respond;
use super::route::Target;
use crate::cluster::{DeleteOptions, Edit, Part};
use crate::object::{self, child, list, text};
use crate::selector::structured_matches;
use crate::status::Status;

pub(crate) fn evict(call: &Call, target: &Target) -> Result<Response<Body>, Status> {
    let eviction = call.object("Eviction")?;
    let bytes = call.cluster.bytes(&target.resource, &target.namespace, &target.name)?;
    let pod: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    for budget in call.cluster.list("policy", "poddisruptionbudgets", Some(&target.namespace)) {
        let selector = budget.pointer("/spec/selector").unwrap_or(&Value::Null);
        let labels = pod.pointer("/metadata/labels").unwrap_or(&Value::Null);
        let spent = budget.pointer("/status/disruptionsAllowed").and_then(Value::as_i64).unwrap_or(0) <= 0;
        if spent && !selector.is_null() && structured_matches(selector, labels) {
            return Err(over_budget(&budget));
        }
    }
    let options = DeleteOptions {
        grace: eviction.pointer("/deleteOptions/gracePeriodSeconds").and_then(Value::as_i64),
        dry_run: call.dry_run() || !list(&eviction, "/deleteOptions/dryRun").is_empty(),
        ..DeleteOptions::default()
    };
    call.cluster.retire(&target.resource, &target.namespace, &target.name, &options)?;
    let done =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    respond::coded(201, &done)
}

fn over_budget(budget: &Value) -> Status {
    let healthy =
        |field: &str| budget.pointer(&format!("/status/{field}")).and_then(Value::as_i64).unwrap_or(0);
    let cause = json!({
        "reason": "DisruptionBudget",
        "message": format!(
            "The disruption budget {} needs {} healthy pods and has {} currently",
            object::name(budget), healthy("desiredHealthy"), healthy("currentHealthy"),
        ),
    });
    Status::new(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")
        .with_details(json!({"causes": [cause]}))
}

pub(crate) fn bind(call: &Call, target: &Target) -> Result<Response<Body>, Status> {
    let binding = call.object("Binding")?;
    let node = text(&binding, "/target/name").to_owned();
    if node.is_empty() {
        return Err(Status::bad_request("target.name: Required value"));
    }
    let resource = &target.resource;
    let edit = Edit {
        resource,
        namespace: &target.namespace,
        name: &target.name,
        part: Part::Whole,
        dry_run: call.dry_run(),
    };
    call.cluster.edit(edit, |current| {
        let taken = text(current, "/spec/nodeName");
        if !taken.is_empty() {
            let why = format!("pod {} is already assigned to node {taken:?}", target.name);
            return Err(Status::conflict(resource, &target.name, &why));
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
