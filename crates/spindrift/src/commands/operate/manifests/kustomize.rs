//! Kustomizations, built by an installed `kubectl` or `kustomize`.

use std::{io, path::Path, process::Stdio, time::Duration};

use anyhow::{Context as _, bail, ensure};
use tokio::process::Command;

/// Programs that build a kustomization, in the order in which they are tried.
const BUILDERS: [(&str, &[&str]); 2] = [("kustomize", &["build"]), ("kubectl", &["kustomize"])];
/// Remote bases are cloned by the builder.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Builds a kustomization; returns its manifests.
pub(super) async fn build(directory: &Path) -> anyhow::Result<String> {
    ensure!(directory.is_dir(), "-k {}: expected a directory with a kustomization.yaml", directory.display());
    for (program, arguments) in BUILDERS {
        let mut command = Command::new(program);
        command.args(arguments).arg(directory).stdin(Stdio::null()).kill_on_drop(true);
        let output = match tokio::time::timeout(TIMEOUT, command.output()).await {
            Err(_) => bail!("{program} has not built {} within 2 minutes", directory.display()),
            Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => continue,
            Ok(output) => output.with_context(|| format!("run {program}"))?,
        };
        if output.status.success() {
            return String::from_utf8(output.stdout)
                .with_context(|| format!("the output of {program} is not UTF-8"));
        }
        let error = String::from_utf8_lossy(&output.stderr);
        bail!("{program}: {}", error.trim().trim_start_matches("error: ").trim_start_matches("Error: "));
    }
    bail!("-k needs kubectl or kustomize to build the kustomization, and neither is in PATH")
}
