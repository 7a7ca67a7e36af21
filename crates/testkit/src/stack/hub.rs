//! `spindrift-hub` as a process, and its REST API as a client sees it.

use std::{net::SocketAddr, path::Path};

use anyhow::Context;
use futures::{Stream, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Operations, metric, write_config};
use crate::{Daemon, Database, PATIENCE, binary, eventually, free_port, scratch};

/// A running hub; killed when dropped. It keeps its ports over restarts.
pub struct HubProcess {
    daemon: Option<Daemon>,
    settings: Value,
    name: String,
    directory: TempDir,
    grpc: u16,
    rest: u16,
}

/// An object as `/v1/objects` shows it.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct StoredObject {
    pub account: String,
    pub group: String,
    pub version: String,
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    pub object: Value,
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WatchEvent {
    pub event: String,
    pub id: Option<String>,
    pub data: Value,
}

/// An open `/v1/objects/watch`.
pub struct Watch {
    body: std::pin::Pin<Box<dyn Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    unread: String,
}

// === impl HubProcess ===

impl HubProcess {
    /// Starts a hub on a database, with further settings under their dotted paths' JSON pointers, such as
    /// `("/kubesvc/cache/cacheAll", json!(true))`.
    pub async fn start(name: &str, database: &Database, settings: &[(&str, Value)]) -> anyhow::Result<Self> {
        let (grpc, rest) = (free_port(), free_port());
        let mut merged = json!({
            "kubesvc": { "grpc": { "server": { "address": "127.0.0.1", "port": grpc } }, "cache": {} },
            "server": { "host": "127.0.0.1", "port": rest },
            "sql": { "url": database.url() },
            "logging": { "level": "debug" },
        });
        for (pointer, value) in settings {
            set(&mut merged, pointer, value.clone());
        }
        let directory = scratch("hub")?;
        let mut hub = Self { daemon: None, settings: merged, name: name.to_owned(), directory, grpc, rest };
        hub.restart().await?;
        Ok(hub)
    }

    /// Changes the configuration for the next start.
    pub fn configure(&mut self, pointer: &str, value: Value) {
        set(&mut self.settings, pointer, value);
    }

    /// Kills it, if it runs, and starts it again on the same ports; returns when it answers.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        self.kill();
        write_config(self.directory.path(), "spindrift-hub.yml", &self.settings)?;
        let file = self.directory.path().join("spindrift-hub.yml");
        let config = ["--config", &file.display().to_string()];
        self.daemon = Some(Daemon::spawn(binary("spindrift-hub")?, &config, &[("HOSTNAME", &self.name)])?);
        eventually("the hub answers", PATIENCE, || async {
            if let Some(status) = self.daemon().exited() {
                anyhow::bail!("the hub ended with {status}: {}", self.daemon().log());
            }
            self.get("/health").await
        })
        .await;
        Ok(())
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.kill();
        }
    }

    /// The process, while it runs.
    pub fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("the hub runs")
    }

    /// Where agents dial.
    pub fn grpc(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.grpc))
    }

    /// The base address of its REST API.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.rest)
    }

    /// Where its files are.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// An answer of its REST API.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        Ok(reqwest::get(format!("{}{path}", self.url())).await?.error_for_status()?.json().await?)
    }

    /// A page of its REST API.
    pub async fn text(&self, path: &str) -> anyhow::Result<String> {
        Ok(reqwest::get(format!("{}{path}", self.url())).await?.error_for_status()?.text().await?)
    }

    /// A counter or gauge of its `/metrics`; a series with labels that does not exist yet is zero.
    pub async fn metric(&self, name: &str) -> anyhow::Result<u64> {
        metric(&self.text("/metrics").await?, name)
    }

    /// Client for operations in an account's cluster.
    pub fn operations(&self, account: &str) -> Operations {
        Operations::new(&self.url(), account)
    }

    /// All objects that match, over all pages.
    pub async fn objects(&self, query: &[(&str, &str)]) -> anyhow::Result<Vec<StoredObject>> {
        #[derive(Deserialize)]
        struct Page {
            items: Vec<StoredObject>,
            r#continue: Option<String>,
        }
        let client = reqwest::Client::new();
        let mut objects = Vec::new();
        let mut token = String::new();
        loop {
            let mut request = client.get(format!("{}/v1/objects", self.url())).query(query);
            if !token.is_empty() {
                request = request.query(&[("continue", &token)]);
            }
            let page: Page = request.send().await?.error_for_status()?.json().await?;
            objects.extend(page.items);
            match page.r#continue {
                Some(next) => token = next,
                None => return Ok(objects),
            }
        }
    }

    /// Opens a watch, from a position if one is given.
    pub async fn watch(&self, query: &[(&str, &str)], last_event_id: Option<&str>) -> anyhow::Result<Watch> {
        let mut request = reqwest::Client::new().get(format!("{}/v1/objects/watch", self.url())).query(query);
        if let Some(id) = last_event_id {
            request = request.header("Last-Event-ID", id);
        }
        let response = request.send().await?.error_for_status()?;
        Ok(Watch { body: Box::pin(response.bytes_stream()), unread: String::new() })
    }
}

fn set(settings: &mut Value, pointer: &str, value: Value) {
    let mut at = settings;
    for key in pointer.split('/').skip(1) {
        at = &mut at[key];
    }
    *at = value;
}

// === impl Watch ===

impl Watch {
    /// The next event; comments are passed by.
    pub async fn next(&mut self) -> anyhow::Result<WatchEvent> {
        loop {
            while let Some((block, rest)) = self.unread.split_once("\n\n") {
                let event = parse(block);
                self.unread = String::from(rest);
                if let Some(event) = event? {
                    return Ok(event);
                }
            }
            let chunk = tokio::time::timeout(PATIENCE, self.body.next()).await.context("no event came")?;
            self.unread.push_str(std::str::from_utf8(&chunk.context("the watch ended")??)?);
        }
    }

    /// The next event that fits, passing by others.
    pub async fn find(&mut self, fits: impl Fn(&WatchEvent) -> bool) -> anyhow::Result<WatchEvent> {
        loop {
            let event = self.next().await?;
            if fits(&event) {
                return Ok(event);
            }
        }
    }
}

fn parse(block: &str) -> anyhow::Result<Option<WatchEvent>> {
    let mut event = WatchEvent::default();
    let mut data = String::new();
    for line in block.lines() {
        match line.split_once(':') {
            Some(("event", value)) => event.event = String::from(value.trim()),
            Some(("id", value)) => event.id = Some(value.trim().to_owned()),
            Some(("data", value)) => data.push_str(value.trim_start()),
            _ => {}
        }
    }
    if event.event.is_empty() {
        return Ok(None);
    }
    event.data = serde_json::from_str(&data)?;
    Ok(Some(event))
}
