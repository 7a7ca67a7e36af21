//! `rollout`

use serde::{Deserialize, Serialize};

use super::{DryRun, VerbRequest};
use crate::operation::{ObjectRef, OperationClass, TargetRef};

/// Manages the rollout of a workload.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// Workload.
    pub target: ObjectRef,
    /// Action.
    #[serde(flatten)]
    pub action: RolloutAction,
    /// Dry run.
    #[serde(default)]
    pub dry_run: DryRun,
}

/// Action on a rollout; in JSON, the field `action` names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "action", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RolloutAction {
    /// Rolls back.
    Undo {
        /// Revision; the previous one if absent or 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_revision: Option<u64>,
    },
    /// Pauses.
    Pause,
    /// Resumes.
    Resume,
    /// Restarts all pods.
    Restart,
    /// Answer: `{"revisions": [{"revision": 1, "changeCause": null, "template": …}]}`.
    History {
        /// Revision; all if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revision: Option<u64>,
    },
    /// Answer: lines of `{"message": "…", "done": false}`, the last one done if it is followed.
    Status {
        /// Follows until the rollout is complete.
        #[serde(default)]
        follow: bool,
    },
}

// === impl Rollout ===

impl VerbRequest for Rollout {
    const NAME: &'static str = "rollout";

    fn target(&self) -> TargetRef<'_> {
        TargetRef::object(&self.target)
    }

    fn class(&self) -> OperationClass {
        match self.action {
            RolloutAction::Status { follow: true } => OperationClass::Stream,
            RolloutAction::Status { follow: false } | RolloutAction::History { .. } => OperationClass::Read,
            RolloutAction::Undo { .. }
            | RolloutAction::Pause
            | RolloutAction::Resume
            | RolloutAction::Restart => OperationClass::Change,
        }
    }
}
