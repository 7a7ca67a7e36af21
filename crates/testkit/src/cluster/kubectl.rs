//! The real kubectl.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use anyhow::{Context, bail};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::testenv;
use crate::daemon::Daemon;
use crate::guardian;

/// The real kubectl for the server of a kubeconfig.
pub struct Kubectl {
    testenv: PathBuf,
    kubeconfig: PathBuf,
    /// Discovery is cached on disk; the ports of two tests' clusters may be the same.
    cache: TempDir,
}

// === impl Kubectl ===

impl Kubectl {
    /// For the API server of any kubeconfig.
    pub async fn with(kubeconfig: &Path) -> anyhow::Result<Self> {
        Self::new(testenv::path().await?, kubeconfig)
    }

    pub(super) fn new(testenv: &Path, kubeconfig: &Path) -> anyhow::Result<Self> {
        let cache = guardian::scratch("kubectl")?;
        Ok(Self { testenv: testenv.to_owned(), kubeconfig: kubeconfig.to_owned(), cache })
    }

    /// Starts one that runs until it is dropped, such as `get --watch`; its log is its output.
    pub fn spawn(&self, args: &[&str]) -> anyhow::Result<Daemon> {
        let args: Vec<&str> = ["kubectl"].iter().chain(args).copied().collect();
        let kubeconfig = self.kubeconfig.to_string_lossy();
        let cache = self.cache.path().to_string_lossy();
        Daemon::spawn(&self.testenv, &args, &[("KUBECONFIG", &kubeconfig), ("KUBECACHEDIR", &cache)])
    }

    /// Runs it with an input and returns its output; the error contains its stderr.
    pub async fn run(&self, args: &[&str], input: &str) -> anyhow::Result<String> {
        let output = self.output(args, input).await?;
        if !output.status.success() {
            bail!("kubectl {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        String::from_utf8(output.stdout).context("kubectl printed something other than UTF-8")
    }

    /// Runs it with an input; returns its whole output and its exit code.
    pub async fn output(&self, args: &[&str], input: &str) -> anyhow::Result<Output> {
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
            // kubectl may exit without reading all of it, and then prints the reason.
            stdin.write_all(input.as_bytes()).await.ok();
        };
        let (output, ()) = tokio::join!(child.wait_with_output(), feed);
        output.context("run kubectl")
    }
}
