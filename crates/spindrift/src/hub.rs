//! The hub, as a client sees it: typed answers, pages as a stream, and a watch that survives the hub's restarts.
//!
//! ```text
//! Client ──page, pages──▶ Page (a few hundred objects at a time, never all)
//!        ──watch──▶ WatchEvent: Upsert, Delete, Reset, Synced, and Lost / Back around every break
//!        ──accounts, agents, watches, api_resources, namespaces, version──▶ one answer each
//!        ──operate──▶ OperationResponse (bytes as they come), or a SubmitError in Kubernetes' words
//! ```

mod answers;
mod error;
mod operations;
mod sse;
mod watch;

use std::time::Duration;

use futures::{Stream, stream};
use reqwest::{RequestBuilder, Response, Url};
use serde::{Serialize, de::DeserializeOwned};

pub(crate) use answers::{Account, Agent, ApiResource, DeletedObject, Object, Page, Release, WatchStatus};
pub(crate) use error::HubError;
pub(crate) use operations::{
    OperationFilter, OperationRecord, OperationRequest, OperationResponse, SubmitError,
};
pub(crate) use watch::WatchEvent;

/// A host that is there answers sooner.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longer than the store may take for its slowest page.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);
/// The hub says something every 15 seconds, be it that there is nothing to say.
const READ_TIMEOUT: Duration = Duration::from_secs(45);
/// Finds out that a hub is gone which has nothing to say for hours.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// One hub; clones share its connections.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    /// For answers that may take as long as a rollout does, or as a container is silent.
    streaming: reqwest::Client,
    /// Ends in a slash.
    base: Url,
}

/// OperationFilter objects; what is none is not asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Selection {
    /// Accounts, joined by commas.
    pub(crate) account: Option<String>,
    /// Kinds as people write them, joined by commas: `po`, `deployments`, `Widget.example.com`.
    pub(crate) kind: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) label_selector: Option<String>,
    pub(crate) field_selector: Option<String>,
    /// Rows of a page (1 to 1000); the hub chooses if none.
    pub(crate) limit: Option<u32>,
}

// === impl Client ===

impl Client {
    pub(crate) fn new(base: Url) -> Result<Self, HubError> {
        let builder = || {
            let builder = reqwest::Client::builder()
                .user_agent(concat!("spindrift/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT_TIMEOUT)
                .tcp_keepalive(KEEP_ALIVE);
            // A proxy cannot reach what is on this machine.
            if is_loopback(&base) { builder.no_proxy() } else { builder }
        };
        let failed = |error| HubError::request(&base, &error);
        let http = builder().read_timeout(READ_TIMEOUT.max(RESPONSE_TIMEOUT)).build().map_err(failed)?;
        let streaming = builder().build().map_err(failed)?;
        Ok(Self { http, streaming, base })
    }

    /// The hub's address, as people write it.
    pub(crate) fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// One page of objects; the first, unless a `continue` of the page before is given.
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

    /// Changes as they happen, from a page's `position` on; without one, everything that is there first.
    ///
    /// It fails if the hub cannot be reached at the start or refuses the selection; later breaks are event and mended.
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

    /// What is watched of these accounts (joined by commas), or of all.
    pub(crate) async fn watches(&self, accounts: Option<&str>) -> Result<Vec<WatchStatus>, HubError> {
        self.get_json(self.get("v1/watches").query(&[("account", accounts)])).await
    }

    /// The kinds that are cached of any account.
    pub(crate) async fn api_resources(&self) -> Result<Vec<ApiResource>, HubError> {
        self.get_json(self.get("v1/api-resources")).await
    }

    /// The names of all namespaces of these accounts (joined by commas), or of all.
    pub(crate) async fn namespaces(&self, accounts: Option<&str>) -> Result<Vec<String>, HubError> {
        self.get_json(self.get("v1/namespaces").query(&[("account", accounts)])).await
    }

    pub(crate) async fn version(&self) -> Result<Release, HubError> {
        self.get_json(self.get("v1/version")).await
    }

    fn get(&self, path: &str) -> RequestBuilder {
        // The base ends in a slash and the paths are our own, so that they always join.
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
        let body = response.bytes().await.unwrap_or_default();
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
    fn the_way_to_this_machine_leads_through_no_proxy() {
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
