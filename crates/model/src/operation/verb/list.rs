//! `list`

use serde::{Deserialize, Serialize};

use super::VerbRequest;
use crate::operation::{OperationClass, TargetRef};

/// Reads all objects of a kind. Answer: Kubernetes' list, complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct List {
    /// API version, such as `apps/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// As in [`ObjectRef::kind`](crate::ObjectRef).
    pub kind: String,
    /// Namespace; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Label selector, such as `app=web,tier!=test`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// Field selector, such as `status.phase=Running`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_selector: Option<String>,
    /// Also reads outside of the account's namespaces, as far as the cluster authorizes the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anywhere: bool,
}

// === impl List ===

impl VerbRequest for List {
    const NAME: &'static str = "list";

    fn target(&self) -> TargetRef<'_> {
        let selector = self.label_selector.as_deref().or(self.field_selector.as_deref());
        TargetRef {
            api_version: self.api_version.as_deref(),
            namespace: self.namespace.as_deref(),
            all_namespaces: true,
            anywhere: self.anywhere,
            ..TargetRef::selected(&self.kind, selector)
        }
    }

    fn class(&self) -> OperationClass {
        OperationClass::BulkRead
    }
}
