//! `apply`

use serde::{Deserialize, Serialize};

use super::{DryRun, Validation, VerbRequest};
use crate::operation::{Manifest, OperationClass, TargetRef};

/// Applies a manifest: changes the object to match it, and creates it if it does not exist.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Apply {
    /// Desired object.
    pub manifest: Manifest,
    /// Namespace, if the manifest names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Side that computes the change.
    #[serde(default)]
    pub mode: ApplyMode,
    /// Field manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<String>,
    /// Server-side apply: takes fields from other managers.
    #[serde(default)]
    pub force_conflicts: bool,
    /// Deletes and creates an object that cannot be changed in place.
    #[serde(default)]
    pub force: bool,
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

/// Side that computes the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ApplyMode {
    /// As configured in the agent: globally, by kind, or by an annotation of the manifest.
    #[default]
    Configured,
    /// The agent, from the last-applied annotation.
    ClientSide,
    /// The API server, from managed fields.
    ServerSide,
}

// === impl Apply ===

impl VerbRequest for Apply {
    const NAME: &'static str = "apply";

    fn target(&self) -> TargetRef<'_> {
        TargetRef::manifest(&self.manifest, self.namespace.as_deref())
    }

    fn class(&self) -> OperationClass {
        OperationClass::Change
    }
}
