//! Client of the hub: typed responses, pages as a stream, and a watch that survives restarts of the hub.
//!
//! ```text
//! Client ──page, pages──▶ Page (a few hundred objects at a time, never all)
//!        ──watch──▶ WatchEvent: Upsert, Delete, Reset, Synced, and Lost / Back around every lost connection
//!        ──accounts, agents, watches, api_resources, namespaces, version──▶ one response each
//!        ──operate──▶ OperationResponse (bytes as they arrive), or a SubmitError with a Kubernetes Status
//! ```

mod error;
mod operations;
mod responses;
mod sse;
mod watch;

use std::time::Duration;

use futures::{Stream, stream};
use reqwest::{RequestBuilder, Response, Url};
use serde::{Serialize, de::DeserializeOwned};

pub(crate) use error::HubError;
pub(crate) use operations::{
    OperationFilter, OperationRecord, OperationRequest, OperationResponse, SubmitError,
};
pub(crate) use responses::{
    Account, Agent, ApiResource, DeletedObject, Object, Page, ReadProblem, Release, WatchStatus,
};
pub(crate) use watch::WatchEvent;

/// Timeout of the TCP connection; a reachable host accepts sooner.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a response; longer than the slowest page of the store.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);
/// Timeout between two reads of a watch: three of the hub's heartbeats, one every 15 seconds.
const READ_TIMEOUT: Duration = Duration::from_secs(45);
/// Detects a dead peer on streams that are idle for hours.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Client of one hub; clones share its connections.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    /// Without a read timeout, for operations: a rollout or an idle container may send nothing for long.
    streaming: reqwest::Client,
    /// Ends in a slash.
    base: Url,
}

/// Query for objects; a field that is `None` does not restrict it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Selection {
    /// Comma-separated accounts.
    pub(crate) account: Option<String>,
    /// Comma-separated kinds, in any form that kubectl accepts: `po`, `deployments`, `Widget.example.com`.
    pub(crate) kind: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) label_selector: Option<String>,
    pub(crate) field_selector: Option<String>,
    /// Rows of a page (1 to 1000); defaults to the limit of the hub.
    pub(crate) limit: Option<u32>,
    /// Set to read the objects of accounts that do not cache the kind from their clusters.
    pub(crate) live: Option<bool>,
}

// === impl Client ===

impl Client {
    pub(crate) fn new(base: Url) -> Result<Self, HubError> {
        let builder = || {
            let builder = reqwest::Client::builder()
                .user_agent(concat!("spindrift/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT_TIMEOUT)
                .tcp_keepalive(KEEP_ALIVE);
            // A proxy cannot reach the loopback address of this machine.
            if is_loopback(&base) { builder.no_proxy() } else { builder }
        };
        let failed = |error| HubError::request(&base, &error);
        let http = builder().read_timeout(READ_TIMEOUT.max(RESPONSE_TIMEOUT)).build().map_err(failed)?;
        let streaming = builder().build().map_err(failed)?;
        Ok(Self { http, streaming, base })
    }

    /// URL of the hub, without a trailing slash.
    pub(crate) fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// One page of objects: the first, or the one after the page with this `continue` token.
    pub(crate) async fn page(&self, selection: &Selection, token: Option<&str>) -> Result<Page, HubError> {
        let request = self.get("v1/objects").query(selection).query(&[("continue", token)]);
        self.get_json(request).await
    }

    /// All objects, page by page.
    pub(crate) fn pages(&self, selection: Selection) -> impl Stream<Item = Result<Page, HubError>> + '_ {
        stream::try_unfold(Some(None::<String>), move |token| {
            let selection = selection.clone();
            async move {
                let Some(token) = token else { return Ok(None) };
                let mut page = self.page(&selection, token.as_deref()).await?;
                let next = page.r#continue.take().map(Some);
                Ok(Some((page, next)))
            }
        })
    }

    /// Watches from the `position` of a page; without one, all existing objects come first.
    ///
    /// Fails if the hub is unreachable at the start or rejects the selection. Later it reports a lost connection as
    /// [`WatchEvent::Lost`] and reconnects.
    pub(crate) fn watch(
        &self,
        selection: Selection,
        position: Option<String>,
    ) -> impl Stream<Item = Result<WatchEvent, HubError>> + Send + Unpin + 'static {
        watch::open(self.clone(), selection, position)
    }

    pub(crate) async fn accounts(&self) -> Result<Vec<Account>, HubError> {
        self.get_json(self.get("v1/accounts")).await
    }

    pub(crate) async fn agents(&self) -> Result<Vec<Agent>, HubError> {
        self.get_json(self.get("v1/agents")).await
    }

    /// Watches of these accounts (comma-separated), or of all.
    pub(crate) async fn watches(&self, accounts: Option<&str>) -> Result<Vec<WatchStatus>, HubError> {
        self.get_json(self.get("v1/watches").query(&[("account", accounts)])).await
    }

    /// Kinds that are cached of any account.
    pub(crate) async fn api_resources(&self) -> Result<Vec<ApiResource>, HubError> {
        self.get_json(self.get("v1/api-resources")).await
    }

    /// Kinds that are cached of any account, and those that clusters serve besides.
    pub(crate) async fn served_resources(&self) -> Result<Vec<ApiResource>, HubError> {
        self.get_json(self.get("v1/api-resources").query(&[("live", true)])).await
    }

    /// Names of all namespaces of these accounts (comma-separated), or of all.
    pub(crate) async fn namespaces(&self, accounts: Option<&str>) -> Result<Vec<String>, HubError> {
        self.get_json(self.get("v1/namespaces").query(&[("account", accounts)])).await
    }

    pub(crate) async fn version(&self) -> Result<Release, HubError> {
        self.get_json(self.get("v1/version")).await
    }

    fn get(&self, path: &str) -> RequestBuilder {
        // Joining cannot fail: the base ends in a slash, and the paths are constants.
        let url = self.base.join(path).unwrap_or_else(|_| self.base.clone());
        self.http.get(url)
    }

    async fn get_json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, HubError> {
        let response = self.send(request.timeout(RESPONSE_TIMEOUT)).await?;
        let body = response.bytes().await.map_err(|error| HubError::request(&self.base, &error))?;
        serde_json::from_slice(&body).map_err(|_| HubError::not_a_hub(&self.base, &body))
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, HubError> {
        let response = request.send().await.map_err(|error| HubError::request(&self.base, &error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.map_err(|error| HubError::request(&self.base, &error))?;
        Err(HubError::answer(&self.base, status, &body))
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_urls_use_no_proxy() {
        for (url, near) in [
            ("http://localhost:7002", true),
            ("http://127.0.0.9", true),
            ("http://[::1]:7002", true),
            ("http://localhost.example.com", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(is_loopback(&url.parse().unwrap()), near, "{url}");
        }
    }

    #[test]
    fn paths_follow_the_base() {
        let client = Client::new("https://example.com/spin/".parse().unwrap()).unwrap();
        let request =
            client.get("v1/objects").query(&Selection { kind: Some("po".into()), ..Selection::default() });
        assert_eq!(request.build().unwrap().url().as_str(), "https://example.com/spin/v1/objects?kind=po");
        assert_eq!(client.url(), "https://example.com/spin");
    }
}
