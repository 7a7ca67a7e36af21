//! What the commands have in common that do something in clusters.
//!
//! ```text
//! words, files ─▶ Subjects, Manifests ─▶ steps ─┐
//! -a, --all-accounts ─▶ Where ─▶ accounts ──────┴▶ Crew: all accounts at once, the steps of each in order
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

pub(crate) use accounts::Where;
pub(crate) use change::{Change, Format, Step, Told};
pub(crate) use display::{Line, View};
pub(crate) use fanout::{Crew, Trouble};
pub(crate) use manifests::{Files, Source, parse};
pub(crate) use naming::{Dry, after, duration, prefix, title};
pub(crate) use resource_args::{Subject, Subjects};

/// Where objects are unless told otherwise.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";
