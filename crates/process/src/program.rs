//! Programs that the process runs: they get its environment, without the variables that it has added for itself.

use std::{env, ffi::OsStr};

use tokio::process::Command;

/// Variable with the names, separated by commas, that a process added to its environment when it re-executed itself.
pub const ADDED: &str = "SPINDRIFT_ADDED_TO_ENVIRONMENT";

/// A program to be run.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    if let Ok(added) = env::var(ADDED) {
        for name in added.split(',').chain([ADDED]) {
            command.env_remove(name);
        }
    }
    command
}
