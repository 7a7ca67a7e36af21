//! What the commands have in common that do something in clusters.
//!
//! ```text
//! words, files ─▶ ResourceArgs, Manifests ─▶ steps ─┐
//! -a, --all-accounts ─▶ AccountFlags ─▶ accounts ──────┴▶ AccountFanout: all accounts at once, the steps of each in order
//!                                                   ├─▶ Board: a line per account on a terminal, plain lines in a pipe
//!                                                   └─▶ Ctrl-C: what runs is called off
//! ```

mod accounts;
mod change;
mod display;
mod fanout;
mod manifests;
mod naming;
mod resource_args;

pub(crate) use accounts::AccountFlags;
pub(crate) use change::{ChangeCommand, ChangeFormat, ChangeReport, Step};
pub(crate) use display::{AccountLine, DisplayMode};
pub(crate) use fanout::{AccountFanout, OperationError};
pub(crate) use manifests::{FilenameFlags, ManifestSource, parse};
pub(crate) use naming::{DryRunMode, after, duration, prefix, title};
pub(crate) use resource_args::{ResourceArg, ResourceArgs};

/// AccountFlags objects are unless report otherwise.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";
