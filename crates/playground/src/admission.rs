//! What an object has to pass before it is stored: defaults, rules, and what the server itself hands out.

use serde_json::Value;

use crate::catalogue::{Resource, establish};
use crate::cluster::DEFINITIONS;

mod allocate;
mod defaults;
mod names;
mod pods;
mod schema;
mod validate;

pub(crate) use allocate::allocate;
pub(crate) use pods::container_names;
pub(crate) use validate::{validate, validate_change};

/// Fills in what clients may leave out.
pub(crate) fn default(resource: &Resource, object: &mut Value) {
    if resource.custom.is_some() {
        return;
    }
    if resource.is(DEFINITIONS) {
        establish(object);
        return;
    }
    defaults::default(&resource.kind, object);
}

/// Takes out of a custom object what its schema does not know, and fills in what it has defaults for.
pub(crate) fn prune(resource: &Resource, object: &mut Value) {
    if let Some(custom) = &resource.custom {
        schema::prune(&custom.schema, object);
    }
}

/// Whether the server counts the changes of an object's specification.
pub(crate) fn has_generation(resource: &Resource) -> bool {
    resource.custom.is_some()
        || matches!(
            resource.kind.as_str(),
            "CronJob"
                | "CustomResourceDefinition"
                | "DaemonSet"
                | "Deployment"
                | "Ingress"
                | "IngressClass"
                | "Job"
                | "NetworkPolicy"
                | "Pod"
                | "PodDisruptionBudget"
                | "PodTemplate"
                | "PriorityClass"
                | "ReplicaSet"
                | "ReplicationController"
                | "StatefulSet"
                | "MutatingWebhookConfiguration"
                | "ValidatingWebhookConfiguration"
        )
}
