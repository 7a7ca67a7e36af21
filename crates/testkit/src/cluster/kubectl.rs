//! The real kubectl.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::guardian;

pub(super) struct Kubectl {
    testenv: PathBuf,
    kubeconfig: PathBuf,
    /// Discovery is cached on disk; the ports of two tests' clusters may be the same.
    cache: TempDir,
}

// === impl Kubectl ===

impl Kubectl {
    pub(super) fn new(testenv: &Path, kubeconfig: &Path) -> anyhow::Result<Self> {
        let cache = guardian::scratch("kubectl")?;
        Ok(Self { testenv: testenv.to_owned(), kubeconfig: kubeconfig.to_owned(), cache })
    }

    pub(super) async fn run(&self, args: &[&str], input: &str) -> anyhow::Result<String> {
        let mut child = Command::new(&self.testenv)
            .arg("kubectl")
            .args(args)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBECACHEDIR", self.cache.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("start kubectl")?;
        let mut stdin = child.stdin.take().context("kubectl has no stdin")?;
        let feed = async move {
            // kubectl may end without reading it all, and then says why.
            stdin.write_all(input.as_bytes()).await.ok();
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), feed);
        let output = output.context("run kubectl")?;
        if !output.status.success() {
            bail!("kubectl {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        String::from_utf8(output.stdout).context("kubectl printed something other than UTF-8")
    }
}
