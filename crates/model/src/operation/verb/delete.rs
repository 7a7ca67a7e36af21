//! `delete`

use serde::{Deserialize, Serialize};

use super::{DryRun, VerbRequest};
use crate::operation::{OperationClass, TargetRef};

/// Deletes an object, or all that match a selector. Answer: `{"deleted": [ObjectRef with uid]}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delete {
    /// API version, such as `apps/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// As in [`ObjectRef::kind`](crate::ObjectRef).
    pub kind: String,
    /// Namespace; with a selector, all namespaces if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name; absent with a selector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Label selector, such as `app=web`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
    /// Field selector, such as `status.phase=Failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_selector: Option<String>,
    /// Grace period; the object's own if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace_period_seconds: Option<u64>,
    /// Allows a grace period of 0; without it, 0 means one second, as with kubectl.
    #[serde(default)]
    pub force: bool,
    /// Handling of dependents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagation_policy: Option<Propagation>,
    /// Preconditions.
    #[serde(default)]
    pub preconditions: Preconditions,
    /// Answers when the objects are gone, not when their deletion has begun.
    #[serde(default = "yes")]
    pub wait: bool,
    /// Succeeds if the object does not exist.
    #[serde(default)]
    pub ignore_not_found: bool,
    /// Dry run.
    #[serde(default)]
    pub dry_run: DryRun,
}

/// Handling of the dependents of a deleted object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Propagation {
    /// Deletes them first.
    #[serde(alias = "foreground")]
    Foreground,
    /// Deletes them afterwards.
    #[serde(alias = "background")]
    Background,
    /// Keeps them.
    #[serde(alias = "orphan")]
    Orphan,
}

/// Preconditions of a deletion.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Preconditions {
    /// Uid of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Resource version of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

fn yes() -> bool {
    true
}

// === impl Delete ===

impl VerbRequest for Delete {
    const NAME: &'static str = "delete";

    fn target(&self) -> TargetRef<'_> {
        let selector = self.label_selector.as_deref().or(self.field_selector.as_deref());
        TargetRef {
            api_version: self.api_version.as_deref(),
            namespace: self.namespace.as_deref(),
            name: self.name.as_deref(),
            all_namespaces: self.name.is_none(),
            ..TargetRef::selected(&self.kind, selector)
        }
    }

    fn class(&self) -> OperationClass {
        if self.wait { OperationClass::WaitingChange } else { OperationClass::Change }
    }
}
