//! PostgreSQL's command lines.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;

use super::engine::Recipe;
use super::server::find_program;
use crate::guardian;

const PACKAGE: &str = "postgresql";

/// Speed over durability, but only as far as a crash of the server loses nothing that was committed (so
/// `synchronous_commit` stays on): tests crash servers, not machines.
const SETTINGS: &[&str] = &[
    "fsync=off",
    "full_page_writes=off",
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "shared_buffers=32MB",
    "max_connections=200",
];

pub(super) const RECIPE: Recipe = Recipe {
    account: "postgres",
    initialise,
    serve,
    // "Immediate shutdown": unlike SIGKILL it takes the children along, who would block the next start.
    crash: Signal::SIGQUIT,
    authority: "postgres://postgres@",
    admin_database: "postgres",
};

fn initialise(directory: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(program("initdb")?);
    command.arg("-D").arg(data(directory)).args(["-U", "postgres", "-A", "trust", "-E", "UTF8"]);
    command.args(["--locale=C", "--no-sync", "--no-instructions"]);
    Ok(command)
}

fn serve(directory: &Path, port: u16) -> anyhow::Result<Command> {
    let mut command = guardian::command(program("postgres")?)?;
    command.arg("-D").arg(data(directory)).args(["-p", &port.to_string()]);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    Ok(command)
}

/// initdb wants to create it by itself.
fn data(directory: &Path) -> PathBuf {
    directory.join("data")
}

/// Debian keeps these programs out of PATH, by version.
fn program(name: &str) -> anyhow::Result<PathBuf> {
    let mut places: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.flatten().map(|version| version.path().join("bin")).collect())
        .unwrap_or_default();
    places.sort();
    places.reverse();
    find_program(name, &places, PACKAGE)
}
