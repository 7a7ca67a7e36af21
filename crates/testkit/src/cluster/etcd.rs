//! The store of one or more clusters.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::daemon::{Daemon, STARTUP};
use crate::guardian;
use crate::port::free_port;

pub(super) struct Etcd {
    url: String,
    prefixes: AtomicU32,
    http: reqwest::Client,
    _daemon: Daemon,
    _directory: TempDir,
}

// === impl Etcd ===

impl Etcd {
    pub(super) async fn start(testenv: &Path) -> anyhow::Result<Self> {
        let directory = guardian::scratch("etcd-data")?;
        let url = format!("http://127.0.0.1:{}", free_port());
        let peer_url = format!("http://127.0.0.1:{}", free_port());
        let mut command = guardian::command(testenv)?;
        command.arg("etcd").arg("--data-dir").arg(directory.path()).arg("--unsafe-no-fsync");
        command.args(["--listen-client-urls", &url, "--advertise-client-urls", &url]);
        command.args(["--listen-peer-urls", &peer_url, "--initial-advertise-peer-urls", &peer_url]);
        command.args(["--initial-cluster", &format!("default={peer_url}")]);
        let daemon = Daemon::serve("etcd", command)?;

        let http = reqwest::Client::builder().no_proxy().build().context("build an HTTP client")?;
        let readyz = format!("{url}/readyz");
        daemon
            .ready(STARTUP, async || {
                http.get(&readyz).send().await?.error_for_status()?;
                Ok(())
            })
            .await?;
        Ok(Self { url, prefixes: AtomicU32::new(1), http, _daemon: daemon, _directory: directory })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Where in the store one cluster may live.
    pub(super) fn new_prefix(&self) -> String {
        format!("/cluster-{}", self.prefixes.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) async fn compact(&self) -> anyhow::Result<()> {
        // Any key will do: each answer's header tells the store's revision.
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
