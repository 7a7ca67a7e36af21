//! Deployments, replica sets, stateful sets, daemon sets, replication controllers and their templates.

use serde_json::Value;

use super::{NONE, container_images, container_names, joined, label_selector};
use crate::{
    column::{AGE, Builtin, NAME, integer, text, wide},
    format_labels,
    labels::selector_text,
    look::Look,
};

pub(super) const DEPLOYMENT: &[Builtin] = &[
    NAME,
    text("Ready", |deployment, _| ready_of_desired(deployment)),
    text("Up-to-date", |deployment, _| deployment.int("/status/updatedReplicas").into()),
    text("Available", |deployment, _| deployment.int("/status/availableReplicas").into()),
    AGE,
    wide("Containers", container_names),
    wide("Images", container_images),
    // The only kind whose empty selector is not shown as <none>.
    wide("Selector", |deployment, _| selector_text(deployment.at("/spec/selector")).into()),
];

pub(super) const STATEFUL_SET: &[Builtin] = &[
    NAME,
    text("Ready", |set, _| ready_of_desired(set)),
    AGE,
    wide("Containers", container_names),
    wide("Images", container_images),
];

pub(super) const REPLICA_SET: &[Builtin] = &[
    NAME,
    integer("Desired", |set, _| set.int("/spec/replicas").into()),
    integer("Current", |set, _| set.int("/status/replicas").into()),
    integer("Ready", |set, _| set.int("/status/readyReplicas").into()),
    AGE,
    wide("Containers", container_names),
    wide("Images", container_images),
    wide("Selector", label_selector),
];

pub(super) const REPLICATION_CONTROLLER: &[Builtin] = &[
    NAME,
    integer("Desired", |controller, _| controller.int("/spec/replicas").into()),
    integer("Current", |controller, _| controller.int("/status/replicas").into()),
    integer("Ready", |controller, _| controller.int("/status/readyReplicas").into()),
    AGE,
    wide("Containers", container_names),
    wide("Images", container_images),
    wide("Selector", |controller, _| format_labels(controller.at("/spec/selector")).into()),
];

pub(super) const DAEMON_SET: &[Builtin] = &[
    NAME,
    integer("Desired", |set, _| set.int("/status/desiredNumberScheduled").into()),
    integer("Current", |set, _| set.int("/status/currentNumberScheduled").into()),
    integer("Ready", |set, _| set.int("/status/numberReady").into()),
    integer("Up-to-date", |set, _| set.int("/status/updatedNumberScheduled").into()),
    integer("Available", |set, _| set.int("/status/numberAvailable").into()),
    text("Node Selector", |set, _| format_labels(set.at("/spec/template/spec/nodeSelector")).into()),
    AGE,
    wide("Containers", container_names),
    wide("Images", container_images),
    wide("Selector", label_selector),
];

pub(super) const CONTROLLER_REVISION: &[Builtin] = &[
    NAME,
    text("Controller", |revision, _| controller_of(revision).into()),
    text("Revision", |revision, _| revision.int("/revision").into()),
    AGE,
];

pub(super) const POD_TEMPLATE: &[Builtin] = &[
    NAME,
    text("Containers", |template, _| joined(template.list("/template/spec/containers"), "/name")),
    text("Images", |template, _| joined(template.list("/template/spec/containers"), "/image")),
    text("Pod Labels", |template, _| format_labels(template.at("/template/metadata/labels")).into()),
];

fn ready_of_desired(object: &Value) -> Value {
    format!("{}/{}", object.int("/status/readyReplicas"), object.int("/spec/replicas")).into()
}

/// Owner of a controller revision, such as `statefulset.apps/web`.
fn controller_of(object: &Value) -> String {
    let owners = object.list("/metadata/ownerReferences");
    let Some(owner) = owners.iter().find(|owner| owner.flag("/controller")) else {
        return NONE.to_owned();
    };
    let kind = owner.text("/kind").to_lowercase();
    match owner.text("/apiVersion").split_once('/') {
        Some((group, _)) => format!("{kind}.{}/{}", group.to_lowercase(), owner.text("/name")),
        None => format!("{kind}/{}", owner.text("/name")),
    }
}
