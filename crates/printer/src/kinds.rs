//! Columns of the built-in kinds, one module for each area.

mod access;
mod admission;
mod autoscaling;
pub(crate) mod batch;
mod cluster;
mod config;
mod endpoints;
pub(crate) mod event;
mod network;
pub(crate) mod node;
pub(crate) mod pod;
mod resource;
pub(crate) mod storage;
mod workload;

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    KindRef,
    column::{AGE, Builtin, CREATED_AT, NAME},
    look::Look,
};

const NONE: &str = "<none>";
const UNSET: &str = "<unset>";

/// Columns of a built-in kind.
pub(crate) fn cells(KindRef { group, kind }: KindRef<'_>) -> Option<&'static [Builtin]> {
    Some(match (group, kind) {
        ("", "ComponentStatus") => cluster::COMPONENT_STATUS,
        ("", "ConfigMap") => config::CONFIG_MAP,
        ("", "Endpoints") => endpoints::ENDPOINTS,
        ("" | "events.k8s.io", "Event") => event::EVENT,
        ("", "Namespace") => cluster::NAMESPACE,
        ("", "Node") => node::NODE,
        ("", "PersistentVolume") => storage::PERSISTENT_VOLUME,
        ("", "PersistentVolumeClaim") => storage::PERSISTENT_VOLUME_CLAIM,
        ("", "Pod") => pod::POD,
        ("", "PodTemplate") => workload::POD_TEMPLATE,
        ("", "ReplicationController") => workload::REPLICATION_CONTROLLER,
        ("", "ResourceQuota") => config::RESOURCE_QUOTA,
        ("", "Secret") => config::SECRET,
        ("", "Service") => network::SERVICE,
        ("admissionregistration.k8s.io", kind) => admission::cells(kind)?,
        ("apiregistration.k8s.io", "APIService") => cluster::API_SERVICE,
        ("apps", "ControllerRevision") => workload::CONTROLLER_REVISION,
        ("apps", "DaemonSet") => workload::DAEMON_SET,
        ("apps", "Deployment") => workload::DEPLOYMENT,
        ("apps", "ReplicaSet") => workload::REPLICA_SET,
        ("apps", "StatefulSet") => workload::STATEFUL_SET,
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::HORIZONTAL_POD_AUTOSCALER,
        ("batch", "CronJob") => batch::CRON_JOB,
        ("batch", "Job") => batch::JOB,
        ("certificates.k8s.io", "CertificateSigningRequest") => access::CERTIFICATE_SIGNING_REQUEST,
        ("coordination.k8s.io", "Lease") => config::LEASE,
        ("discovery.k8s.io", "EndpointSlice") => endpoints::ENDPOINT_SLICE,
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => cluster::FLOW_SCHEMA,
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => cluster::PRIORITY_LEVEL,
        ("networking.k8s.io", "IPAddress") => network::IP_ADDRESS,
        ("networking.k8s.io", "Ingress") => network::INGRESS,
        ("networking.k8s.io", "IngressClass") => network::INGRESS_CLASS,
        ("networking.k8s.io", "NetworkPolicy") => network::NETWORK_POLICY,
        ("networking.k8s.io", "ServiceCIDR") => network::SERVICE_CIDR,
        ("node.k8s.io", "RuntimeClass") => cluster::RUNTIME_CLASS,
        ("policy", "PodDisruptionBudget") => autoscaling::POD_DISRUPTION_BUDGET,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => access::ROLE_BINDING,
        ("resource.k8s.io", "ResourceClaim") => resource::RESOURCE_CLAIM,
        ("resource.k8s.io", "ResourceSlice") => resource::RESOURCE_SLICE,
        ("scheduling.k8s.io", "PriorityClass") => cluster::PRIORITY_CLASS,
        ("storage.k8s.io", kind) => storage::cells(kind)?,
        ("", "LimitRange")
        | ("apiextensions.k8s.io", "CustomResourceDefinition")
        | ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => NAME_AND_TIME,
        ("", "ServiceAccount") | ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => NAME_AND_AGE,
        _ => return None,
    })
}

/// Columns of a custom resource whose CustomResourceDefinition has none.
pub(crate) const CUSTOM: &[Builtin] = &[NAME, AGE.with_type("date")];
const NAME_AND_AGE: &[Builtin] = &[NAME, AGE];
const NAME_AND_TIME: &[Builtin] = &[NAME, CREATED_AT];

// === cells that several kinds share ===

/// Texts of one field of each container, for wide columns.
fn joined(containers: &[Value], field: &str) -> Value {
    containers.iter().map(|container| container.text(field)).collect::<Vec<_>>().join(",").into()
}

fn container_names(object: &Value, _: Timestamp) -> Value {
    joined(object.list("/spec/template/spec/containers"), "/name")
}

fn container_images(object: &Value, _: Timestamp) -> Value {
    joined(object.list("/spec/template/spec/containers"), "/image")
}

fn label_selector(object: &Value, _: Timestamp) -> Value {
    crate::format_selector(object.at("/spec/selector")).into()
}

/// First items, and the number of the omitted ones.
fn first_of(list: &[String], limit: usize, separator: &str) -> String {
    match list.len().checked_sub(limit) {
        None | Some(0) => list.join(separator),
        Some(more) => format!("{} + {more} more...", list[..limit].join(separator)),
    }
}

/// Whether the condition is `True`.
fn is_true(object: &Value, condition: &str) -> bool {
    object.condition(condition).is_some_and(|condition| condition.text("/status") == "True")
}
