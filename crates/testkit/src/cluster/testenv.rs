//! The binary that contains all of Kubernetes; see `testenv/`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, ensure};
use tokio::process::Command;
use tokio::sync::OnceCell;

const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testenv/build");

/// The path of the binary, which is built if need be: some minutes, once per machine.
pub async fn path() -> anyhow::Result<&'static Path> {
    static PATH: OnceCell<PathBuf> = OnceCell::const_new();
    let path = PATH.get_or_try_init(build).await?;
    Ok(path)
}

async fn build() -> anyhow::Result<PathBuf> {
    // Progress goes to the terminal: ten silent minutes would look like a hang.
    let output = Command::new(BUILD)
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("run {BUILD}"))?;
    ensure!(output.status.success(), "{BUILD} ended with {}", output.status);
    let stdout = String::from_utf8(output.stdout).context("the path of testenv is UTF-8")?;
    let path = stdout.lines().last().context("testenv/build printed no path")?;
    Ok(PathBuf::from(path))
}
