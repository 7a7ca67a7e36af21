//! Operations: requests that the hub sends to an account, and their responses.
//!
//! The client chooses the id of an operation, so that it can cancel the operation before the response arrives.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, Url};
use serde::{Deserialize, Serialize};
use spindrift_model::{KubectlContext, OperationId, Status, Verb};

use super::{Client, HubError};

/// Timeout of requests that the hub answers without a cluster.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);

/// Response header with the action that failed, a JSON string.
const CONTEXT: &str = "spindrift-doing";

/// Operation in one account.
#[derive(Debug)]
pub(crate) struct OperationRequest<'a> {
    pub(crate) id: OperationId,
    pub(crate) account: &'a str,
    pub(crate) verb: &'a Verb,
    /// Deadline; defaults to the setting of the hub.
    pub(crate) deadline: Option<Duration>,
}

/// Body of the response; may stream for hours.
#[derive(Debug)]
pub(crate) struct OperationResponse {
    response: Response,
    base: Url,
}

/// Error of an operation before the first byte of its response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SubmitError {
    /// Status of the hub, the agent or the API server.
    #[error("{0}")]
    Status(Box<Status>),
    #[error(transparent)]
    Hub(#[from] HubError),
}

/// Operation as recorded by the hub.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperationRecord {
    pub(crate) id: String,
    pub(crate) account: String,
    pub(crate) verb: String,
    /// Target in text, such as `deployment/web`.
    #[serde(default)]
    pub(crate) target: Option<String>,
    /// `queued`, `sent`, `completed`, `failed`, `unknown`, `cancelled` or `expired`.
    pub(crate) state: String,
    /// HTTP status, once the operation is complete.
    #[serde(default)]
    pub(crate) code: Option<u16>,
    /// Kubernetes `Status` if the operation failed.
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
    /// Reason of the final state, if it needs one.
    #[serde(default)]
    pub(crate) reason: Option<String>,
}

/// Filter of operations; a field that is `None` does not restrict it.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct OperationFilter {
    pub(crate) account: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) limit: Option<u32>,
}

// === impl Client ===

impl Client {
    /// Submits an operation, and waits until its response begins.
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
        let context = response.headers().get(CONTEXT);
        let context = context.and_then(|context| KubectlContext::read(context.as_bytes()));
        let body = response.bytes().await.map_err(|error| HubError::request(&self.base, &error))?;
        Err(match Status::read(&body) {
            Some(status) => SubmitError::Status(Box::new(status.during(context))),
            None => HubError::answer(&self.base, status, &body).into(),
        })
    }

    /// Cancels an operation, unless it is already complete.
    pub(crate) async fn cancel(&self, id: &str) -> Result<(), HubError> {
        self.send_command(self.request(Method::DELETE, &["v1", "operations", id])).await
    }

    pub(crate) async fn operation(&self, id: &str) -> Result<OperationRecord, HubError> {
        self.get_json(self.request(Method::GET, &["v1", "operations", id])).await
    }

    /// Operations, newest first.
    pub(crate) async fn operations(&self, which: &OperationFilter) -> Result<Vec<OperationRecord>, HubError> {
        self.get_json(self.request(Method::GET, &["v1", "operations"]).query(which)).await
    }

    /// Freezes an account: the hub rejects changes.
    pub(crate) async fn freeze(&self, account: &str, reason: &str) -> Result<(), HubError> {
        let body = serde_json::json!({ "reason": reason });
        self.send_command(self.request(Method::PUT, &["v1", "accounts", account, "freeze"]).json(&body)).await
    }

    pub(crate) async fn unfreeze(&self, account: &str) -> Result<(), HubError> {
        self.send_command(self.request(Method::DELETE, &["v1", "accounts", account, "freeze"])).await
    }

    /// Removes an account that no agent serves, and its cached objects.
    pub(crate) async fn forget(&self, account: &str) -> Result<(), HubError> {
        self.send_command(self.request(Method::DELETE, &["v1", "accounts", account])).await
    }

    fn request(&self, method: Method, path: &[&str]) -> RequestBuilder {
        self.http.request(method, self.at(path))
    }

    /// Sends a request whose response has no body of interest.
    async fn send_command(&self, request: RequestBuilder) -> Result<(), HubError> {
        let response = request.timeout(COMMAND_TIMEOUT).send().await;
        let response = response.map_err(|error| HubError::request(&self.base, &error))?;
        let code = response.status();
        if code.is_success() {
            return Ok(());
        }
        let body = response.bytes().await.map_err(|error| HubError::request(&self.base, &error))?;
        Err(match Status::read(&body) {
            Some(Status { code, message, .. }) => HubError::Rejected { status: code, message },
            None => HubError::answer(&self.base, code, &body),
        })
    }

    /// URL of a path; escapes the segments, since account names may contain any character.
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
    /// Next bytes, or `None` at the end. An interrupted response is an error and never an end.
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
    fn a_deadline_is_at_least_one_second() {
        assert_eq!(seconds(Duration::from_mins(2)), "120s");
        assert_eq!(seconds(Duration::from_millis(5)), "1s");
    }
}
