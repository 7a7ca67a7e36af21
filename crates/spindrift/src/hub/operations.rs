//! Operations: what a hub has done in clusters, and what comes back.
//!
//! An id is chosen here and not by the hub, so that what was asked for can be called off before it is answered.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, Url};
use serde::{Deserialize, Serialize};
use spindrift_model::{Doing, OperationId, Status, Verb};

use super::{Client, HubError};

/// How long a hub may take for what needs no cluster.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// What was being done when it was refused, a text in JSON.
const DOING: &str = "spindrift-doing";

/// One thing to do in one account.
#[derive(Debug)]
pub(crate) struct OperationRequest<'a> {
    pub(crate) id: OperationId,
    pub(crate) account: &'a str,
    pub(crate) verb: &'a Verb,
    /// How long it may take; the hub decides if none.
    pub(crate) deadline: Option<Duration>,
}

/// What comes back, maybe slowly and for hours.
#[derive(Debug)]
pub(crate) struct OperationResponse {
    response: Response,
    base: Url,
}

/// Why nothing comes back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubmitError {
    /// Somebody on the way to the API server, or itself, says why.
    #[error("{0}")]
    Status(Box<Status>),
    #[error(transparent)]
    Hub(#[from] HubError),
}

/// An operation as the hub remembers it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperationRecord {
    pub(crate) id: String,
    pub(crate) account: String,
    pub(crate) verb: String,
    /// What it is about, as people say it.
    #[serde(default)]
    pub(crate) target: Option<String>,
    /// `queued`, `sent`, `completed`, `failed`, `unknown`, `cancelled` or `expired`.
    pub(crate) state: String,
    /// An HTTP status, once it has ended.
    #[serde(default)]
    pub(crate) code: Option<u16>,
    /// Kubernetes' `Status`, if it failed.
    #[serde(default)]
    pub(crate) status: Option<serde_json::Value>,
    /// RFC 3339.
    pub(crate) created_at: String,
    #[serde(default)]
    pub(crate) sent_at: Option<String>,
    #[serde(default)]
    pub(crate) ended_at: Option<String>,
    #[serde(default)]
    pub(crate) agent: Option<String>,
    #[serde(default)]
    pub(crate) incarnation: Option<String>,
    #[serde(default)]
    pub(crate) took_ms: Option<u64>,
    /// Why it ended as it did, where that needs words.
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

/// OperationFilter operations; what is none is not asked for.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct OperationFilter {
    pub(crate) account: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) limit: Option<u32>,
}

// === impl Client ===

impl Client {
    /// Has something done, and waits until the first of the answer is there.
    pub(crate) async fn operate(
        &self,
        request: &OperationRequest<'_>,
    ) -> Result<OperationResponse, SubmitError> {
        let OperationRequest { id, account, verb, deadline } = request;
        let url = self.at(&["v1", "accounts", account, "operations"]);
        let mut post = self.streaming.post(url).query(&[("id", id.to_string())]).json(verb);
        if let Some(deadline) = deadline {
            post = post.query(&[("deadline", seconds(*deadline))]);
        }
        let response = post.send().await.map_err(|error| HubError::request(&self.base, &error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(OperationResponse { response, base: self.base.clone() });
        }
        let doing = response.headers().get(DOING).and_then(|doing| Doing::read(doing.as_bytes()));
        let body = response.bytes().await.map_err(|error| HubError::request(&self.base, &error))?;
        Err(match Status::read(&body) {
            Some(status) => SubmitError::Status(Box::new(status.during(doing))),
            None => HubError::answer(&self.base, status, &body).into(),
        })
    }

    /// Calls an operation off, if it is not too late.
    pub(crate) async fn cancel(&self, id: &str) -> Result<(), HubError> {
        self.send_command(self.request(Method::DELETE, &["v1", "operations", id])).await
    }

    pub(crate) async fn operation(&self, id: &str) -> Result<OperationRecord, HubError> {
        self.get_json(self.request(Method::GET, &["v1", "operations", id])).await
    }

    /// The newest first.
    pub(crate) async fn operations(&self, which: &OperationFilter) -> Result<Vec<OperationRecord>, HubError> {
        self.get_json(self.request(Method::GET, &["v1", "operations"]).query(which)).await
    }

    /// From now on nothing is changed in the account.
    pub(crate) async fn freeze(&self, account: &str, reason: &str) -> Result<(), HubError> {
        let body = serde_json::json!({ "reason": reason });
        self.send_command(self.request(Method::PUT, &["v1", "accounts", account, "freeze"]).json(&body)).await
    }

    pub(crate) async fn unfreeze(&self, account: &str) -> Result<(), HubError> {
        self.send_command(self.request(Method::DELETE, &["v1", "accounts", account, "freeze"])).await
    }

    /// Removes an account that no agent serves, and all that is cached of it.
    pub(crate) async fn forget(&self, account: &str) -> Result<(), HubError> {
        self.send_command(self.request(Method::DELETE, &["v1", "accounts", account])).await
    }

    fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        self.http.request(method, self.at(path))
    }

    /// For what is answered by a word, or by none.
    async fn send_command(&self, request: RequestBuilder) -> Result<(), HubError> {
        let response = request.timeout(COMMAND_TIMEOUT).send().await;
        let response = response.map_err(|error| HubError::request(&self.base, &error))?;
        let code = response.status();
        if code.is_success() {
            return Ok(());
        }
        let body = response.bytes().await.unwrap_or_default();
        Err(match Status::read(&body) {
            Some(Status { code, message, .. }) => HubError::Rejected { status: code, message },
            None => HubError::answer(&self.base, code, &body),
        })
    }

    /// Names of others than us may need escapes.
    fn at(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }
}

fn seconds(duration: Duration) -> String {
    format!("{}s", duration.as_secs().max(1))
}

// === impl OperationResponse ===

impl OperationResponse {
    /// The next bytes; none at the end. What broke off is an error and never looks like an end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, HubError> {
        let chunk = self.response.chunk().await.map_err(|error| HubError::request(&self.base, &error))?;
        Ok(chunk.map(Vec::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_follow_the_base() {
        for (base, expected) in [
            ("https://example.com/", "https://example.com/v1/accounts/a%2Fb%20c/freeze"),
            ("https://example.com/spin/", "https://example.com/spin/v1/accounts/a%2Fb%20c/freeze"),
        ] {
            let client = Client::new(base.parse().unwrap()).unwrap();
            assert_eq!(client.at(&["v1", "accounts", "a/b c", "freeze"]).as_str(), expected);
        }
    }

    #[test]
    fn a_deadline_is_never_none_at_all() {
        assert_eq!(seconds(Duration::from_mins(2)), "120s");
        assert_eq!(seconds(Duration::from_millis(5)), "1s");
    }
}
