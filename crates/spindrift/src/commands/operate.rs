//! Shared parts of the commands that submit operations.
//!
//! ```text
//! arguments, files ─▶ ResourceArgs, FilenameFlags ─▶ steps ─┐
//! -a, --all-accounts ─▶ AccountFlags ─▶ accounts ───────────┴▶ AccountFanout: accounts in parallel, steps in order
//!                                                              ├─▶ ProgressDisplay: one line for each account
//!                                                              └─▶ Ctrl-C: cancels pending operations
//! ```

mod accounts;
mod change;
mod display;
mod fanout;
mod live_patch;
mod manifests;
mod naming;
mod resource_args;

pub(crate) use accounts::{AccountFlags, expand_accounts, is_pattern};
pub(crate) use change::{ChangeCommand, ChangeFormat, ChangeReport, Step};
pub(crate) use display::{AccountLine, DisplayMode};
pub(crate) use fanout::{AccountFanout, OperationError};
pub(crate) use live_patch::{LivePatch, ObjectChange};
pub(crate) use manifests::{FilenameFlags, ManifestSource, parse};
pub(crate) use naming::{DryRunMode, after, duration, prefix, title};
pub(crate) use resource_args::{ResourceArg, ResourceArgs};

/// Default namespace of objects.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";
