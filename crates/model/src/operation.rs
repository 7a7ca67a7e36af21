//! Operations on a cluster, and their outcomes.
//!
//! ```text
//! Operation (id, account, deadline, Verb) ──▶ agent ──▶ answer, in pieces ──▶ Ending (Outcome, duration)
//! ```
//!
//! A verb is one of Kubernetes', not of Spinnaker's. It is JSON everywhere: in the REST API, in the store and on the wire.
//! A new verb is one file in `verb/` here, and one in the agent.

mod class;
mod context;
mod error;
mod id;
mod outcome;
mod source;
mod status;
mod target;
mod verb;

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use class::OperationClass;
pub use context::KubectlContext;
pub use error::{ErrorKind, FailedState, OperationError};
pub use id::{InvalidOperationId, OperationId};
pub use outcome::{Content, Ending, Outcome};
pub use source::StatusSource;
pub use status::{KubectlAction, Status};
pub use target::TargetRef;
pub use verb::{
    Apply, ApplyMode, Create, Delete, Diff, Discover, DryRun, Get, List, Logs, Matches, Patch, PatchKind,
    Preconditions, Propagation, Replace, Rollout, RolloutAction, Scale, Top, Validation, Verb,
};

use crate::AccountName;

/// Operation on the cluster of one account, from the REST API to the agent.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Id, unique for ever: a change is made at most once under it.
    pub id: OperationId,
    /// Account.
    pub account: AccountName,
    /// Time until its deadline; the hub's default if absent.
    pub time_left: Option<Duration>,
    /// Verb, with its request.
    pub verb: Verb,
}

/// Reference to an object, by any name of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectRef {
    /// API version, such as `apps/v1`; if absent, the kind alone decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// Kind: `Deployment`, `deployments.apps`, `deploy` …
    pub kind: String,
    /// Namespace; absent for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

/// Object, or a patch of one, as its author wrote it. It may be a Secret: `Debug` hides it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct Manifest(pub Value);

// === impl ObjectRef ===

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

// === impl Manifest ===

impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Manifest(…)")
    }
}

#[cfg(test)]
mod tests;
