//! `diff`

use serde::{Deserialize, Serialize};

use super::{ApplyMode, VerbRequest};
use crate::operation::{Manifest, OperationClass, TargetRef};

/// Computes the change that applying a manifest would make. Answer: `{"live": object or null, "merged": object}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Diff {
    /// Manifest to apply.
    pub manifest: Manifest,
    /// Namespace, if the manifest names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Side that would compute the change.
    #[serde(default)]
    pub mode: ApplyMode,
    /// Field manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<String>,
    /// Takes fields from other managers.
    #[serde(default)]
    pub force_conflicts: bool,
}

// === impl Diff ===

impl VerbRequest for Diff {
    const NAME: &'static str = "diff";

    fn target(&self) -> TargetRef<'_> {
        TargetRef::manifest(&self.manifest, self.namespace.as_deref())
    }

    fn class(&self) -> OperationClass {
        OperationClass::Read
    }
}
