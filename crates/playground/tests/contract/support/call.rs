//! One raw request and its response.

use anyhow::{Context, ensure};
use http::{HeaderMap, Request};
use kube::client::Body;
use serde_json::Value;
use spindrift_testkit::PATIENCE;

pub(crate) const JSON: &str = "application/json";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// A request under construction.
pub(crate) struct Call<'a> {
    client: &'a kube::Client,
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

pub(super) fn install_tls() {
    spindrift_process::tls::install_provider();
}

/// A client without retries and redirects.
pub(super) fn client(mut config: kube::Config) -> anyhow::Result<kube::Client> {
    config.proxy_url = None;
    config.default_retry = false;
    Ok(kube::Client::try_from(config)?)
}

// === impl Call ===

impl<'a> Call<'a> {
    pub(super) fn new(client: &'a kube::Client, method: &'static str, path: String) -> Self {
        Self { client, method, path, headers: vec![("accept", JSON.to_owned())], body: Vec::new() }
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body(body.to_string()).content_type(JSON)
    }

    pub(crate) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    pub(crate) fn content_type(self, media_type: &str) -> Self {
        self.header("content-type", media_type)
    }

    pub(crate) fn accept(self, media_type: &str) -> Self {
        self.header("accept", media_type)
    }

    /// Uses another client.
    pub(crate) fn through(mut self, client: &'a kube::Client) -> Self {
        self.client = client;
        self
    }

    /// Impersonates a user, as the administrator may.
    pub(crate) fn by_user(self, user: &str) -> Self {
        self.header("impersonate-user", user)
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(present, _)| *present != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) async fn send(self) -> anyhow::Result<http::Response<Body>> {
        let what = format!("{} {}", self.method, self.path);
        let mut request = Request::builder().method(self.method).uri(encode(&self.path));
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(self.body)).context(what.clone())?;
        self.client.send(request).await.context(what)
    }

    /// Sends the request and returns any response.
    pub(crate) async fn answer(self) -> anyhow::Result<Answer> {
        let what = format!("{} {}", self.method, self.path);
        let whole = async {
            let (head, body) = self.send().await?.into_parts();
            let body = body.collect_bytes().await.context("read the answer")?.to_vec();
            Ok(Answer { code: head.status.as_u16(), headers: head.headers, body })
        };
        tokio::time::timeout(PATIENCE, whole).await.with_context(|| format!("{what} has no end"))?
    }

    /// Sends the request, which must succeed, and returns the object.
    pub(crate) async fn ok(self) -> anyhow::Result<Value> {
        let what = format!("{} {}", self.method, self.path);
        let answer = self.answer().await?;
        ensure!((200..300).contains(&answer.code), "{what} failed: {}", answer.text());
        answer.json()
    }

    /// Sends the request, which must fail, and returns the status, whose code must equal that of the response.
    pub(crate) async fn refused(self) -> anyhow::Result<Value> {
        let what = format!("{} {}", self.method, self.path);
        let answer = self.answer().await?;
        ensure!(answer.code >= 400, "{what} was not refused: {}", answer.text());
        ensure!(
            answer.header("content-type") == JSON,
            "{what} was refused without a status: {}",
            answer.text()
        );
        let status = answer.json()?;
        ensure!(status["code"] == answer.code, "{what}: {} is not the code of {status}", answer.code);
        Ok(status)
    }
}

/// Escapes characters that a URL may not contain, so that tests can write selectors unescaped.
fn encode(path: &str) -> String {
    path.chars()
        .map(|c| match c {
            ' ' => "%20".to_owned(),
            '>' => "%3E".to_owned(),
            other => other.to_string(),
        })
        .collect()
}

// === impl Answer ===

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("no JSON: {}", self.text()))
    }
}
