//! Where cargo puts our own programs.

use std::path::PathBuf;

use anyhow::{Context, ensure};

/// Finds a program of this workspace that was built beside the running test or program, or the one that the environment
/// names: `SPINDRIFT_AGENT_BINARY` for `spindrift-agent`.
pub fn binary(name: &str) -> anyhow::Result<PathBuf> {
    let variable = format!("{}_BINARY", name.to_uppercase().replace('-', "_"));
    if let Some(path) = std::env::var_os(&variable).map(PathBuf::from) {
        ensure!(path.is_file(), "{variable}: there is no program {}", path.display());
        return Ok(path);
    }
    // target/<profile>/deps/<test>-<hash>  or  target/<profile>/<program>  →  target/<profile>/<name>
    let running = std::env::current_exe().context("find the running program")?;
    let mut beside = running.ancestors().skip(1).take(2).map(|directory| directory.join(name));
    beside.find(|path| path.is_file()).with_context(|| {
        format!("{name} is not built beside {}: run `make test`, or `cargo build --bins`", running.display())
    })
}
