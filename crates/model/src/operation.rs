//! What an agent is asked to do, and what came of it.
//!
//! ```text
//! Operation (id, account, deadline, Verb) ──▶ agent ──▶ answer, in pieces ──▶ Ending (Outcome, duration)
//! ```
//!
//! A verb is one of Kubernetes', not of Spinnaker's. It is JSON everywhere: in the REST API, in the store and on the wire.

mod doing;
mod id;
mod outcome;
mod pace;
mod read;
mod refusal;
mod status;
mod write;

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use doing::Doing;
pub use id::{InvalidOperationId, OperationId};
pub use outcome::{Content, Ending, Outcome};
pub use pace::Pace;
pub use read::{Diff, Get, List, Logs, Matches, Top};
pub use refusal::Speaker;
pub use status::Status;
pub use write::{
    Apply, ApplyMode, Create, Delete, DryRun, Patch, PatchKind, Preconditions, Propagation, Replace, Rollout,
    RolloutAction, Scale, Validation,
};

use crate::AccountName;

/// One thing to do in one cluster.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Names it everywhere, and for ever: what is done under an id is done at most once.
    pub id: OperationId,
    /// Where.
    pub account: AccountName,
    /// How long it may take from now on.
    pub time_left: Duration,
    /// What.
    pub verb: Verb,
}

/// What to do. In JSON, the field `verb` tells which it is: `{"verb": "scale", "target": …, "replicas": 3}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "camelCase")]
pub enum Verb {
    /// Makes an object what a manifest says, and creates it where it is missing.
    Apply(Apply),
    /// Creates an object that is not there yet.
    Create(Create),
    /// Puts a manifest in the place of an object.
    Replace(Replace),
    /// Changes parts of an object.
    Patch(Patch),
    /// Deletes an object, or all that a selector finds, and waits until they are gone.
    Delete(Delete),
    /// Sets the number of replicas.
    Scale(Scale),
    /// What concerns revisions of a workload.
    Rollout(Rollout),
    /// Reads one object.
    Get(Get),
    /// Reads all objects of a kind.
    List(List),
    /// Reads what a container has written.
    Logs(Logs),
    /// Reads what pods or nodes use.
    Top(Top),
    /// Asks which resources there are.
    Discover {},
    /// Shows what applying a manifest would change.
    Diff(Diff),
    /// Tells whether an object holds the same data as a manifest or another object, without showing either.
    Matches(Matches),
}

/// An object, by whatever name people give its kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectRef {
    /// Such as `apps/v1`; without it, the kind alone decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// `Deployment`, `deployments.apps`, `deploy` …
    pub kind: String,
    /// Left out for kinds without namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

/// An object, or a patch of one, as somebody wrote it. It may be of a Secret: nothing prints it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Manifest(pub Value);

// === impl Verb ===

impl Verb {
    /// Every verb of this release, as an agent announces them.
    pub const NAMES: [&'static str; 14] = [
        "apply", "create", "replace", "patch", "delete", "scale", "rollout", "get", "list", "logs", "top",
        "discover", "diff", "matches",
    ];

    /// As in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Apply(_) => "apply",
            Self::Create(_) => "create",
            Self::Replace(_) => "replace",
            Self::Patch(_) => "patch",
            Self::Delete(_) => "delete",
            Self::Scale(_) => "scale",
            Self::Rollout(_) => "rollout",
            Self::Get(_) => "get",
            Self::List(_) => "list",
            Self::Logs(_) => "logs",
            Self::Top(_) => "top",
            Self::Discover {} => "discover",
            Self::Diff(_) => "diff",
            Self::Matches(_) => "matches",
        }
    }

    /// Whether it may change something: then it is done at most once, in order, and not while the account is frozen.
    pub fn is_mutation(&self) -> bool {
        match self {
            Self::Apply(_)
            | Self::Create(_)
            | Self::Replace(_)
            | Self::Patch(_)
            | Self::Delete(_)
            | Self::Scale(_) => true,
            Self::Rollout(rollout) => rollout.action.is_mutation(),
            Self::Get(_)
            | Self::List(_)
            | Self::Logs(_)
            | Self::Top(_)
            | Self::Discover {}
            | Self::Diff(_)
            | Self::Matches(_) => false,
        }
    }
}

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
