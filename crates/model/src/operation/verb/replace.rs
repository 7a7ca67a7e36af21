//! `replace`

use serde::{Deserialize, Serialize};

use super::{DryRun, Validation, VerbRequest};
use crate::operation::{Manifest, OperationClass, TargetRef};

/// Replaces an object by a manifest.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replace {
    /// Desired object.
    pub manifest: Manifest,
    /// Namespace, if the manifest names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Creates the object if it does not exist.
    #[serde(default)]
    pub or_create: bool,
    /// Deletes and creates in any case.
    #[serde(default)]
    pub force: bool,
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
    /// Name of the Secret in the same namespace whose values stand for an absent `data`: live reads hide values. They do
    /// not leave the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values_from: Option<String>,
}

// === impl Replace ===

impl VerbRequest for Replace {
    const NAME: &'static str = "replace";

    fn target(&self) -> TargetRef<'_> {
        TargetRef::manifest(&self.manifest, self.namespace.as_deref())
    }

    fn class(&self) -> OperationClass {
        OperationClass::Change
    }
}
