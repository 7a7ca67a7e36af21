//! Where cargo puts our own programs.

use std::path::PathBuf;

use anyhow::{Context, ensure};

/// Finds a program of this workspace that was built beside the running test.
pub fn binary(name: &str) -> anyhow::Result<PathBuf> {
    // target/<profile>/deps/<test>-<hash>  →  target/<profile>/<name>
    let test = std::env::current_exe().context("find the running test")?;
    let profile = test.ancestors().nth(2).context("the running test lies outside of a target directory")?;
    let path = profile.join(name);
    ensure!(path.is_file(), "{} is not built: run `make test`, or `cargo build --bins`", path.display());
    Ok(path)
}
