//! An answer of a hub, or of a recorded Clouddriver.

use anyhow::Context;
use serde_json::{Value, json};

use super::recording::media_type;

/// An answer in the form in which answers are recorded.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub content_type: Option<String>,
    pub etag: Option<String>,
    /// Null if there is none; `{"@text": …}` if it is no JSON.
    pub body: Value,
}

// === impl Answer ===

impl Answer {
    /// Reads an answer to its end.
    pub async fn of(response: reqwest::Response) -> anyhow::Result<Self> {
        let header = |name| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        let (status, content_type, etag) =
            (response.status().as_u16(), header("content-type"), header("etag"));
        let bytes = response.bytes().await.context("read the answer")?;
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            let text = || json!({ "@text": String::from_utf8_lossy(&bytes) });
            serde_json::from_slice(&bytes).unwrap_or_else(|_| text())
        };
        Ok(Self { status, content_type, etag, body })
    }

    /// Such as `application/json`.
    pub fn media_type(&self) -> Option<&str> {
        self.content_type.as_deref().map(media_type)
    }
}
