//! Other programs that the process runs: they get its environment, without what it has put there for itself.

use std::{env, ffi::OsStr};

use tokio::process::Command;

/// Names what a process has added to its own environment, separated by commas, when it started itself again.
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
