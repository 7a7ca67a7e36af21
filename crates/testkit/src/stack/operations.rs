//! Operations as a caller of the REST API sees them.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use serde_json::Value;

/// Asks a hub to do something in one account's cluster, over connections that stay open.
#[derive(Debug, Clone)]
pub struct Operations {
    client: reqwest::Client,
    url: String,
}

/// Answer of the hub.
#[derive(Debug, Clone)]
pub struct Operated {
    /// The HTTP status.
    pub code: u16,
    /// The answer of the verb, or a `Status`.
    pub body: Bytes,
}

/// Time after which an unused connection is closed.
const IDLE: Duration = Duration::from_secs(10);

// === impl Operations ===

impl Operations {
    pub(super) fn new(hub: &str, account: &str) -> Self {
        // A hub closes a connection that is idle for 30 s, perhaps at the very moment at which it is used again.
        let client = reqwest::Client::builder().pool_idle_timeout(IDLE).build();
        let url = format!("{hub}/v1/accounts/{account}/operations");
        Self { client: client.expect("nothing is read for it"), url }
    }

    /// For those who may have to wait long for their turn.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.url = format!("{}?deadline={}s", self.url, deadline.as_secs());
        self
    }

    /// Requests a verb, such as `{"verb": "get", "target": …}`, and waits for the outcome.
    pub async fn ask(&self, verb: &Value) -> anyhow::Result<Operated> {
        let response = self.client.post(&self.url).json(verb).send().await.context("ask the hub")?;
        let code = response.status().as_u16();
        Ok(Operated { code, body: response.bytes().await.context("read the hub's answer")? })
    }
}

// === impl Operated ===

impl Operated {
    /// Whether it was done.
    pub fn is_done(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// The answer, if it is JSON, else null.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The `Status` of a refused operation.
    pub fn status(&self) -> Value {
        self.json()
    }
}
