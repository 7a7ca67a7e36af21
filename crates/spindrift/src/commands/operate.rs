//! What the commands have in common that do something in clusters.
//!
//! ```text
//! words, files ─▶ Subjects, Manifests ─▶ steps ─┐
//! -a, --all-accounts ─▶ Where ─▶ accounts ──────┴▶ Crew: all accounts at once, the steps of each in order
//!                                                   ├─▶ Board: a line per account on a terminal, plain lines in a pipe
//!                                                   └─▶ Ctrl-C: what runs is called off
//! ```

mod accounts;
mod board;
mod change;
mod crew;
mod manifests;
mod subjects;
mod words;

pub(crate) use accounts::Where;
pub(crate) use board::{Line, View};
pub(crate) use change::{Change, Format, Step, Told};
pub(crate) use crew::{Crew, Trouble};
pub(crate) use manifests::{Files, Source, parse};
pub(crate) use subjects::{Subject, Subjects};
pub(crate) use words::{Dry, after, duration, prefix, title};

/// Where objects are unless told otherwise.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";
