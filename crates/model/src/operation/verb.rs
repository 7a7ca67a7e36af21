//! Verbs: one file each, with the request, its target and its class.
//!
//! Unless documented otherwise, the answer of a change is `{"action": "configured", "object": …, "warnings": ["…"]}`, with
//! the action in kubectl's words.

mod apply;
mod create;
mod delete;
mod diff;
mod discover;
mod get;
mod list;
mod logs;
mod matches;
mod patch;
mod replace;
mod rollout;
mod scale;
mod top;

use serde::{Deserialize, Serialize};

use super::{OperationClass, TargetRef};
use crate::InvalidSegment;

pub use apply::{Apply, ApplyMode};
pub use create::Create;
pub use delete::{Delete, Preconditions, Propagation};
pub use diff::Diff;
pub use discover::Discover;
pub use get::Get;
pub use list::List;
pub use logs::Logs;
pub use matches::Matches;
pub use patch::{Patch, PatchKind};
pub use replace::Replace;
pub use rollout::{Rollout, RolloutAction};
pub use scale::Scale;
pub use top::Top;

/// Verb of Kubernetes, with its request. In JSON, the field `verb` names it:
/// `{"verb": "scale", "target": …, "replicas": 3}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "verb", rename_all = "camelCase")]
pub enum Verb {
    /// Applies a manifest.
    Apply(Apply),
    /// Creates an object that does not exist.
    Create(Create),
    /// Replaces an object by a manifest.
    Replace(Replace),
    /// Patches an object.
    Patch(Patch),
    /// Deletes an object, or all that match a selector, and waits until they are gone.
    Delete(Delete),
    /// Sets the number of replicas.
    Scale(Scale),
    /// Manages the rollout of a workload.
    Rollout(Rollout),
    /// Reads one object.
    Get(Get),
    /// Reads all objects of a kind.
    List(List),
    /// Reads the log of a container.
    Logs(Logs),
    /// Reads the resource usage of pods or nodes.
    Top(Top),
    /// Lists the resources that the cluster serves.
    Discover(Discover),
    /// Computes the change that applying a manifest would make.
    Diff(Diff),
    /// Compares the data of an object with a manifest or another object, without revealing either.
    Matches(Matches),
}

/// Request of a verb.
trait VerbRequest {
    /// Name of the verb in JSON.
    const NAME: &'static str;

    /// Object or objects of the request.
    fn target(&self) -> TargetRef<'_>;

    /// Class by which the hub and the agent schedule it.
    fn class(&self) -> OperationClass;

    /// Checks all names that become segments of paths.
    fn check_paths(&self) -> Result<(), InvalidSegment> {
        self.target().check_path()
    }
}

/// Dry run, as with kubectl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum DryRun {
    /// No dry run.
    #[default]
    None,
    /// Sends no change.
    Client,
    /// The API server processes the change and stores nothing.
    Server,
}

/// Handling of unknown fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "PascalCase")]
pub enum Validation {
    /// Refuses them.
    #[default]
    Strict,
    /// Drops them with a warning.
    Warn,
    /// Drops them.
    Ignore,
}

// === impl Verb ===

/// Evaluates an expression for the request of any verb: the one exhaustive match of this crate.
macro_rules! of_request {
    ($verb:expr, $request:ident => $value:expr) => {
        match $verb {
            Verb::Apply($request) => $value,
            Verb::Create($request) => $value,
            Verb::Replace($request) => $value,
            Verb::Patch($request) => $value,
            Verb::Delete($request) => $value,
            Verb::Scale($request) => $value,
            Verb::Rollout($request) => $value,
            Verb::Get($request) => $value,
            Verb::List($request) => $value,
            Verb::Logs($request) => $value,
            Verb::Top($request) => $value,
            Verb::Discover($request) => $value,
            Verb::Diff($request) => $value,
            Verb::Matches($request) => $value,
        }
    };
}

impl Verb {
    /// All verbs of this release, as an agent announces them.
    pub const NAMES: [&'static str; 14] = [
        Apply::NAME,
        Create::NAME,
        Replace::NAME,
        Patch::NAME,
        Delete::NAME,
        Scale::NAME,
        Rollout::NAME,
        Get::NAME,
        List::NAME,
        Logs::NAME,
        Top::NAME,
        Discover::NAME,
        Diff::NAME,
        Matches::NAME,
    ];

    /// Name in JSON.
    pub fn name(&self) -> &'static str {
        fn name<T: VerbRequest>(_: &T) -> &'static str {
            T::NAME
        }
        of_request!(self, request => name(request))
    }

    /// Object or objects of the request.
    pub fn target(&self) -> TargetRef<'_> {
        of_request!(self, request => request.target())
    }

    /// Class by which the hub and the agent schedule it.
    pub fn class(&self) -> OperationClass {
        of_request!(self, request => request.class())
    }

    /// Checks that all names in the request can be segments of an API server's path.
    pub fn check_paths(&self) -> Result<(), InvalidSegment> {
        of_request!(self, request => request.check_paths())
    }

    /// Whether it may change the cluster: then it is done at most once, in order, and not while the account is frozen.
    pub fn is_mutation(&self) -> bool {
        matches!(self.class(), OperationClass::Change | OperationClass::WaitingChange)
    }

    /// Whether the answer contains values of a Secret.
    pub fn reveals_secrets(&self) -> bool {
        matches!(self, Self::Get(get) if get.reveal)
    }
}
