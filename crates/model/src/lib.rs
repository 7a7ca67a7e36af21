//! Types of the domain: validated names, scopes, object keys, changes, cursors and operations.
//!
//! ```text
//! Account ──has──▶ Scope (resource, namespace or all) ──holds──▶ Object
//!    │                                                             │
//!  Cursor (epoch, seq)  ◀──advanced by──  Batch of Items  ◀──about──┘
//! ```
//!
//! No I/O, no runtime, no protobuf: every other crate may depend on this one, and this one on none of them.
#![warn(missing_docs)]

mod account;
mod change;
mod cursor;
mod fingerprint;
mod kind;
mod name;
mod object;
mod operation;
mod path_segment;
pub mod selector;

pub use account::{AccountDescription, ClusterIdentity, UnavailableAccount};
pub use change::{Batch, Declaration, DeniedScope, Item, ScopeDeclaration, ScopeId, Upsert};
pub use cursor::{Attachment, Cursor, Epoch, Generation, ResumePoint, Seq};
pub use fingerprint::{Fingerprint, Salt};
pub use kind::{CacheKinds, DEFAULT_CACHE_KINDS, KindPattern, Resource};
pub use name::{AccountName, AgentId, HubId, Incarnation, InvalidName, SessionId, TenantId};
pub use object::{ApiVersion, ObjectKey, ResourceVersion, Scope, ScrubRevision, Uid};
pub use operation::{
    Apply, ApplyMode, Content, Create, Delete, Diff, Discover, DryRun, Ending, ErrorKind, FailedState, Get,
    InvalidOperationId, KubectlAction, KubectlContext, List, Logs, Manifest, Matches, ObjectRef, Operation,
    OperationClass, OperationError, OperationId, Outcome, Patch, PatchKind, Preconditions, Propagation,
    Replace, Rollout, RolloutAction, Scale, Status, StatusSource, TargetRef, Top, Validation, Verb,
};
pub use path_segment::{InvalidSegment, check_namespace_subresource, check_path_segment};
