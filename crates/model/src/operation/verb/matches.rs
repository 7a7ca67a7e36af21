//! `matches`

use serde::{Deserialize, Serialize};

use super::VerbRequest;
use crate::{
    InvalidSegment,
    operation::{Manifest, ObjectRef, OperationClass, TargetRef},
};

/// Compares the data of a Secret or ConfigMap, without revealing it. Answer: `{"matches": true}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Matches {
    /// Existing object.
    pub target: ObjectRef,
    /// Manifest to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Manifest>,
    /// Object to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<ObjectRef>,
}

// === impl Matches ===

impl VerbRequest for Matches {
    const NAME: &'static str = "matches";

    fn target(&self) -> TargetRef<'_> {
        TargetRef::object(&self.target)
    }

    fn class(&self) -> OperationClass {
        OperationClass::Read
    }

    fn check_paths(&self) -> Result<(), InvalidSegment> {
        self.target().check_path()?;
        let other = self.other.iter().map(|other| TargetRef { within: "other.", ..TargetRef::object(other) });
        other.into_iter().try_for_each(|other| other.check_path())
    }
}
