//! `create`

use serde::{Deserialize, Serialize};

use super::{DryRun, Validation, VerbRequest};
use crate::operation::{Manifest, OperationClass, TargetRef};

/// Creates an object that does not exist; `generateName` is supported.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Create {
    /// Desired object.
    pub manifest: Manifest,
    /// Namespace, if the manifest names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Stores the manifest in the last-applied annotation, for a later apply.
    #[serde(default)]
    pub save_config: bool,
    /// Field manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<String>,
    /// Dry run.
    #[serde(default)]
    pub dry_run: DryRun,
    /// Handling of unknown fields.
    #[serde(default)]
    pub validate: Validation,
}

// === impl Create ===

impl VerbRequest for Create {
    const NAME: &'static str = "create";

    fn target(&self) -> TargetRef<'_> {
        TargetRef::manifest(&self.manifest, self.namespace.as_deref())
    }

    fn class(&self) -> OperationClass {
        OperationClass::Change
    }
}
