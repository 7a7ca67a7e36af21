//! Why a configuration could not be loaded.

use std::io;
use std::path::PathBuf;

use super::Problem;

/// A configuration that cannot be used; each variant names the place an operator has to look at.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file was found, or was asked for by name, but could not be read.
    #[error("read configuration file {}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file is not the YAML it should be.
    #[error("{}:{line}:{column}: {message}", file.display())]
    Syntax {
        /// The file.
        file: PathBuf,
        /// The line, from one.
        line: u64,
        /// The column, from one.
        column: u64,
        /// Error of the parser.
        message: String,
    },
    /// A file that had content is empty now; it may be about to be written.
    #[error("{} has become empty; write `{{}}` into it if that is meant", file.display())]
    Emptied {
        /// The file.
        file: PathBuf,
    },
    /// No file is left.
    #[error("all configuration files are gone")]
    Vanished,
    /// Placeholders refer to each other in a circle.
    #[error("placeholder of key `{key}` refers to itself: {chain}")]
    Cycle {
        /// The key at which the circle closes.
        key: String,
        /// The keys passed on the way, joined by arrows.
        chain: String,
    },
    /// A value does not fit its key.
    #[error("{key}: {message} ({place})")]
    Invalid {
        /// The path of the key, such as `kubernetes.accounts[0].name`.
        key: String,
        /// Found and expected value.
        message: String,
        /// The file and line or the environment variable that set it.
        place: String,
    },
    /// References cannot be resolved, and a default must not take the place of their values.
    #[error("{}", joined(.0))]
    Unresolved(Vec<Problem>),
    /// A key in a part that decides about security is unknown.
    #[error("unknown key `{key}`: {}", meant(nearest.as_deref()))]
    UnknownKey {
        /// The path of the key.
        key: String,
        /// The known key that is most like it.
        nearest: Option<String>,
    },
    /// The settings type does not list its keys, which is a bug.
    #[error("settings cannot be described")]
    Schema(#[source] serde_json::Error),
}

fn joined(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn meant(nearest: Option<&str>) -> String {
    let security = "options of security are not ignored";
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`? {security}"),
        None => format!("remove it, or correct its name; {security}"),
    }
}
