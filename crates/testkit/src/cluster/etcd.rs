//! The store of one or more clusters.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::daemon::{Daemon, STARTUP};
use crate::guardian;
use crate::port::free_port;

pub(super) struct Etcd {
    testenv: PathBuf,
    url: String,
    peer_url: String,
    prefixes: AtomicU32,
    http: reqwest::Client,
    daemon: Mutex<Option<Daemon>>,
    directory: TempDir,
}

/// Content of a cluster's store at some time.
pub struct Backup(TempDir);

// === impl Etcd ===

impl Etcd {
    pub(super) async fn start(testenv: &Path) -> anyhow::Result<Self> {
        let etcd = Self {
            testenv: testenv.to_owned(),
            url: format!("http://127.0.0.1:{}", free_port()),
            peer_url: format!("http://127.0.0.1:{}", free_port()),
            prefixes: AtomicU32::new(1),
            http: reqwest::Client::builder().no_proxy().build().context("build an HTTP client")?,
            daemon: Mutex::new(None),
            directory: guardian::scratch("etcd-data")?,
        };
        etcd.run().await?;
        Ok(etcd)
    }

    async fn run(&self) -> anyhow::Result<()> {
        let Self { url, peer_url, .. } = self;
        let mut command = guardian::command(&self.testenv)?;
        command.arg("etcd").arg("--data-dir").arg(self.data()).arg("--unsafe-no-fsync");
        command.args(["--listen-client-urls", url, "--advertise-client-urls", url]);
        command.args(["--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url]);
        command.args(["--initial-cluster", &format!("default={peer_url}")]);
        let daemon = Daemon::serve("etcd", command)?;
        let readyz = format!("{url}/readyz");
        daemon
            .ready(STARTUP, async || {
                self.http.get(&readyz).send().await?.error_for_status()?;
                Ok(())
            })
            .await?;
        *self.daemon.lock() = Some(daemon);
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Copies the store, while nothing is written.
    pub(super) async fn back_up(&self) -> anyhow::Result<Backup> {
        let backup = Backup(guardian::scratch("etcd-backup")?);
        self.daemon.lock().take();
        copy(&self.data(), &backup.0.path().join("data"))?;
        self.run().await?;
        Ok(backup)
    }

    /// Restores the store; versions go back with it.
    pub(super) async fn restore(&self, backup: &Backup) -> anyhow::Result<()> {
        self.daemon.lock().take();
        fs::remove_dir_all(self.data()).context("remove etcd's data")?;
        copy(&backup.0.path().join("data"), &self.data())?;
        self.run().await
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Where in the store one cluster may live.
    pub(super) fn new_prefix(&self) -> String {
        format!("/cluster-{}", self.prefixes.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) async fn compact(&self) -> anyhow::Result<()> {
        // Any key will do: each answer's header has the store's revision.
        let answer = self.call("/v3/kv/range", &json!({ "key": "eA==" })).await?;
        let revision = answer.pointer("/header/revision").context("etcd's answer lacks a revision")?;
        self.call("/v3/kv/compaction", &json!({ "revision": revision, "physical": true })).await?;
        Ok(())
    }

    /// Calls etcd's JSON gateway.
    async fn call(&self, method: &str, request: &Value) -> anyhow::Result<Value> {
        let url = format!("{}{method}", self.url);
        let answer =
            self.http.post(&url).json(request).send().await.with_context(|| format!("call {url}"))?;
        let answer = answer.error_for_status().with_context(|| format!("call {url}"))?;
        answer.json().await.with_context(|| format!("read the answer of {url}"))
    }
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).with_context(|| format!("copy {}", target.display()))?;
        }
    }
    Ok(())
}
