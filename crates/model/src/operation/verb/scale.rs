//! `scale`

use serde::{Deserialize, Serialize};

use super::{DryRun, VerbRequest};
use crate::operation::{ObjectRef, OperationClass, TargetRef};

/// Sets the number of replicas. The object of the answer is a `Scale`; `target` beside it has the `apiVersion`, `kind` and
/// `name` of the workload.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scale {
    /// Workload.
    pub target: ObjectRef,
    /// Desired number.
    pub replicas: u32,
    /// Precondition: current number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_replicas: Option<u32>,
    /// Precondition: resource version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// Dry run.
    #[serde(default)]
    pub dry_run: DryRun,
}

// === impl Scale ===

impl VerbRequest for Scale {
    const NAME: &'static str = "scale";

    fn target(&self) -> TargetRef<'_> {
        TargetRef::object(&self.target)
    }

    fn class(&self) -> OperationClass {
        OperationClass::Change
    }
}
