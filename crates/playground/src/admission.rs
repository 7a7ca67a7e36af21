//! Steps between a request and storage: defaults, validation, and values that the server allocates.

use serde_json::Value;

use crate::catalogue::{DEFINITIONS, Resource, establish};

mod allocate;
mod defaults;
mod names;
mod pods;
mod schema;
mod validate;

pub(crate) use allocate::allocate;
pub(crate) use pods::container_names;
pub(crate) use validate::{validate, validate_change};

/// Sets the defaults of built-in kinds.
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

/// Removes the fields of a custom object that its schema does not declare, and sets the schema's defaults.
pub(crate) fn prune(resource: &Resource, object: &mut Value) {
    if let Some(custom) = &resource.custom {
        schema::prune(&custom.schema, object);
    }
}

/// Whether the server increments `metadata.generation` when the specification of this resource changes.
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
