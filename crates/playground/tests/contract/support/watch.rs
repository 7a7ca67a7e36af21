//! A watch: a stream of JSON lines.

use std::collections::VecDeque;

use anyhow::{Context, ensure};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;
use spindrift_testkit::PATIENCE;

use super::Call;

pub(crate) struct Watch {
    body: Body,
    buffer: VecDeque<u8>,
}

/// The events as `ADDED name`, for short comparisons.
pub(crate) fn kinds_and_names(events: &[Value]) -> Vec<String> {
    events
        .iter()
        .map(|event| {
            let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
            format!("{} {name}", event["type"].as_str().unwrap()).trim_end().to_owned()
        })
        .collect()
}

// === impl Watch ===

impl Watch {
    pub(super) async fn open(call: Call<'_>) -> anyhow::Result<Self> {
        let response = call.send().await?;
        ensure!(response.status() == 200, "the watch was refused: {}", response.status());
        Ok(Self { body: response.into_body(), buffer: VecDeque::new() })
    }

    /// Next event; none at the end of the stream.
    pub(crate) async fn next_or_end(&mut self) -> anyhow::Result<Option<Value>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(Some(serde_json::from_slice(&line).context("an event is a line of JSON")?));
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.context("no event comes")?;
            let Some(frame) = frame else {
                ensure!(self.buffer.is_empty(), "the stream ended within an event");
                return Ok(None);
            };
            if let Ok(data) = frame?.into_data() {
                self.buffer.extend(data);
            }
        }
    }

    pub(crate) async fn next(&mut self) -> anyhow::Result<Value> {
        self.next_or_end().await?.context("the stream has ended")
    }

    /// Next changes, `count` of them, without the bookmarks, which may come at any time.
    pub(crate) async fn take(&mut self, count: usize) -> anyhow::Result<Vec<Value>> {
        let mut changes = Vec::new();
        while changes.len() < count {
            let event = self.next().await?;
            if event["type"] != "BOOKMARK" {
                changes.push(event);
            }
        }
        Ok(changes)
    }

    /// All events up to the end of the stream.
    pub(crate) async fn rest(&mut self) -> anyhow::Result<Vec<Value>> {
        let mut events = Vec::new();
        while let Some(event) = self.next_or_end().await? {
            events.push(event);
        }
        Ok(events)
    }

    /// Events up to and including the bookmark that ends the initial ones.
    pub(crate) async fn initial(&mut self) -> anyhow::Result<Vec<Value>> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await?;
            let ended = event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true";
            events.push(event);
            if ended {
                return Ok(events);
            }
        }
    }
}
