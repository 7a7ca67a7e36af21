//! `patch`

use serde::{Deserialize, Serialize};

use super::{DryRun, VerbRequest};
use crate::{
    InvalidSegment, check_path_segment,
    operation::{Manifest, ObjectRef, OperationClass, TargetRef},
};

/// Changes parts of an object.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Patch {
    /// Object.
    pub target: ObjectRef,
    /// Type of the patch.
    #[serde(default, rename = "type")]
    pub kind: PatchKind,
    /// Patch document.
    pub patch: Manifest,
    /// Subresource, such as `status` or `scale`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// Field manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_manager: Option<String>,
    /// Dry run.
    #[serde(default)]
    pub dry_run: DryRun,
}

/// Type of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum PatchKind {
    /// Strategic merge, by the merge keys of the type.
    #[default]
    Strategic,
    /// RFC 7386.
    Merge,
    /// RFC 6902.
    Json,
}

// === impl Patch ===

impl VerbRequest for Patch {
    const NAME: &'static str = "patch";

    fn target(&self) -> TargetRef<'_> {
        TargetRef::object(&self.target)
    }

    fn class(&self) -> OperationClass {
        OperationClass::Change
    }

    fn check_paths(&self) -> Result<(), InvalidSegment> {
        self.target().check_path()?;
        self.subresource.iter().try_for_each(|name| check_path_segment("subresource", name))
    }
}
