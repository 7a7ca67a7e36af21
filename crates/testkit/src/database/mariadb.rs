//! MariaDB's command lines.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;

use super::engine::Recipe;
use super::server::find_program;
use crate::guardian;

const PACKAGE: &str = "mariadb-server";

/// Speed over durability, but only as far as a crash of the server loses nothing that was committed (hence 2,
/// not 0): tests crash servers, not machines. The character set is that of Debian's configuration.
const SETTINGS: &[&str] = &[
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=OFF",
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=32M",
    "--performance-schema=OFF",
    "--skip-log-bin",
    "--skip-name-resolve",
    "--bind-address=127.0.0.1",
    "--max-connections=200",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
];

pub(super) const RECIPE: Recipe = Recipe {
    account: "mysql",
    initialise,
    serve,
    crash: Signal::SIGKILL,
    authority: "mysql://root@",
    admin_database: "mysql",
};

fn initialise(directory: &Path) -> anyhow::Result<Command> {
    let mut command = Command::new(program("mariadb-install-db")?);
    // `normal`: root comes over TCP too, without a password.
    command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
    command.arg(data(directory)).arg(scratch(directory)).args(SETTINGS);
    Ok(command)
}

fn serve(directory: &Path, port: u16) -> anyhow::Result<Command> {
    let mut command = guardian::command(program("mariadbd")?)?;
    command.arg("--no-defaults").arg(data(directory)).arg(scratch(directory));
    command.arg(format!("--port={port}")).args(SETTINGS);
    command.arg(format!("--socket={}", directory.join("socket").display()));
    command.arg(format!("--pid-file={}", directory.join("pid").display()));
    Ok(command)
}

fn data(directory: &Path) -> String {
    format!("--datadir={}", directory.join("data").display())
}

/// Servers that share a directory for temporary tables may remove each other's.
fn scratch(directory: &Path) -> String {
    format!("--tmpdir={}", directory.display())
}

fn program(name: &str) -> anyhow::Result<PathBuf> {
    find_program(name, &["/usr/sbin".into(), "/usr/bin".into()], PACKAGE)
}
