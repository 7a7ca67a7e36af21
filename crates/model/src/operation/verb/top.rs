//! `top`

use serde::{Deserialize, Serialize};

use super::VerbRequest;
use crate::operation::{OperationClass, TargetRef};

/// Reads the resource usage of pods or nodes. Answer: the list of `metrics.k8s.io`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Top {
    /// `pods` or `nodes`.
    pub kind: String,
    /// Namespace; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Label selector, such as `app=web`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// Also reads outside of the account's namespaces, as far as the cluster authorizes the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anywhere: bool,
}

// === impl Top ===

impl VerbRequest for Top {
    const NAME: &'static str = "top";

    fn target(&self) -> TargetRef<'_> {
        TargetRef {
            namespace: self.namespace.as_deref(),
            name: self.name.as_deref(),
            // Measurements are no objects; the agent checks the namespaces of `top` itself.
            is_object: false,
            ..TargetRef::selected(&self.kind, self.label_selector.as_deref())
        }
    }

    fn class(&self) -> OperationClass {
        OperationClass::BulkRead
    }
}
