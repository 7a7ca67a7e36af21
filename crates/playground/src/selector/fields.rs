//! `metadata.name=a,status.phase!=Running`: only fields that the server has an index for can be asked for.

use serde_json::Value;
use spindrift_kubernetes::selector::{FieldRequirement, split_terms};

use crate::catalogue::Resource;
use crate::status::Status;

/// All requirements have to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<FieldRequirement>);

// === impl FieldSelector ===

impl FieldSelector {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn parse(resource: &Resource, text: &str) -> Result<Self, Status> {
        let mut requirements = Vec::new();
        for term in split_terms(text).into_iter().filter(|term| !term.is_empty()) {
            let Some(requirement) = FieldRequirement::parse(term) else {
                let why = format!("invalid selector: '{text}'; can't understand '{term}'");
                return Err(Status::bad_request(why));
            };
            if !supported(resource, &requirement.field) {
                return Err(Status::bad_request(unsupported(resource, &requirement.field)));
            }
            requirements.push(requirement);
        }
        Ok(Self(requirements))
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|requirement| {
            let pointer = format!("/{}", requirement.field.replace('.', "/"));
            let found = match object.pointer(&pointer) {
                Some(Value::String(text)) => text.clone(),
                None | Some(Value::Null) => default_of(&requirement.field).to_owned(),
                Some(other) => other.to_string(),
            };
            (found == requirement.value) == requirement.is_equal
        })
    }
}

/// Default value of a missing field.
fn default_of(field: &str) -> &'static str {
    match field {
        "spec.unschedulable" | "spec.hostNetwork" => "false",
        "status.successful" => "0",
        _ => "",
    }
}

fn supported(resource: &Resource, field: &str) -> bool {
    if field == "metadata.name" || (field == "metadata.namespace" && resource.is_namespaced()) {
        return true;
    }
    let more: &[&str] = match resource.kind.as_str() {
        _ if resource.custom.is_some() => &[],
        "Pod" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "Event" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        "Node" => &["spec.unschedulable"],
        "Namespace" => &["status.phase"],
        "Secret" => &["type"],
        "Service" => &["spec.clusterIP", "spec.type"],
        "ReplicaSet" | "ReplicationController" => &["status.replicas"],
        "Job" => &["status.successful"],
        "CertificateSigningRequest" => &["spec.signerName"],
        _ => &[],
    };
    more.contains(&field)
}

/// The real words differ: kinds with fields of their own have their own sentence.
fn unsupported(resource: &Resource, field: &str) -> String {
    let own = [
        "Pod",
        "Event",
        "Node",
        "Namespace",
        "Secret",
        "Service",
        "ReplicaSet",
        "ReplicationController",
        "Job",
        "CertificateSigningRequest",
    ];
    if resource.custom.is_some() || own.contains(&resource.kind.as_str()) {
        format!("field label not supported: {field}")
    } else {
        format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
    }
}
