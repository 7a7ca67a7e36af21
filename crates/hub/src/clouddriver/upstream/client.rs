//! HTTP client of the upstream Clouddriver: forwards requests unchanged and streams the responses.

use std::{fmt, time::Duration};

use anyhow::Context as _;
use axum::{
    BoxError,
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, Version, header, uri::PathAndQuery},
    response::Response,
};
use bytes::Bytes;
use spindrift_process::proxy::Proxies;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;

use super::{
    body_budget::{BodyBudget, BodyPermit},
    metrics::UpstreamMetrics,
};
use crate::{
    config::UpstreamSettings,
    http_client::{HttpClient, HttpClientSettings, Resolver, TlsSource},
};

/// Hop-by-hop headers, which a proxy must not forward.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    // The hub's server has answered it when it read the body.
    header::EXPECT,
];

/// Client of the upstream Clouddriver.
#[derive(Debug)]
pub(super) struct Client {
    http: HttpClient,
    /// Scheme, authority and path prefix of the Clouddriver.
    base: Uri,
    /// This hub's entry in `Via`.
    name: HeaderValue,
    timeout: Duration,
    body_budget: BodyBudget,
    metrics: UpstreamMetrics,
}

/// Reason why the upstream Clouddriver's response cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamError {
    /// No connection could be opened; nothing was sent.
    NotConnected(String),
    /// The connection ended before the response did.
    Unreachable(String),
    /// No response within the timeout.
    Timeout(Duration),
    /// The response is too large, or has an encoding that was not requested.
    Invalid(String),
}

/// Complete response, for merging.
#[derive(Debug)]
pub(super) struct UpstreamResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    _permit: BodyPermit,
}

// === impl Client ===

impl Client {
    /// Reads the certificates; opens no connection yet.
    pub(super) fn build(url: &str, name: &str, config: &UpstreamSettings) -> anyhow::Result<Self> {
        let base: Uri = url.trim().trim_end_matches('/').parse().context("upstream.url")?;
        let is_known = matches!(base.scheme_str(), Some("http" | "https"));
        let names_user = base.authority().is_some_and(|authority| authority.as_str().contains('@'));
        anyhow::ensure!(
            is_known && base.host().is_some_and(|host| !host.is_empty()) && !names_user,
            "upstream.url: expected http://host:port or https://host:port, found {url:?}"
        );
        let http = HttpClient::new(HttpClientSettings {
            connect_timeout: config.connect_timeout(),
            tls: TlsSource::Files(Box::new(config.tls().context("upstream.tls")?)),
            // It is a service of the same installation.
            proxies: Proxies::default(),
            restrictions: None,
            resolver: Resolver::System,
        });
        let name = HeaderValue::from_str(&format!("1.1 {name}")).context("the hub's name")?;
        Ok(Self {
            http,
            base,
            name,
            timeout: config.timeout(),
            body_budget: BodyBudget::default(),
            metrics: UpstreamMetrics::default(),
        })
    }

    pub(super) fn metrics(&self) -> &UpstreamMetrics {
        &self.metrics
    }

    /// Whether this hub forwarded the request before: the upstream is this hub, or has it as its own upstream.
    pub(super) fn has_passed(&self, headers: &HeaderMap) -> bool {
        let all = headers.get_all(header::VIA);
        let mut hops = all.iter().filter_map(|via| via.to_str().ok()).flat_map(|via| via.split(','));
        hops.any(|hop| hop.trim() == self.name)
    }

    /// Forwards a request and streams the response. The timeout covers the wait for the head and for each part of the body.
    pub(super) async fn forward(&self, request: Request) -> Result<Response, UpstreamError> {
        let limit = self.timeout;
        let response = self.send(request, limit).await;
        self.metrics.count(response.as_ref().map(Response::status));
        let (parts, body) = response?.into_parts();
        let parted = body.into_data_stream().timeout(limit).map(move |part| match part {
            Ok(part) => part.map_err(BoxError::from),
            Err(_) => Err(BoxError::from(format!("the upstream Clouddriver paused for more than {limit:?}"))),
        });
        Ok(Response::from_parts(parts, Body::from_stream(parted)))
    }

    /// Sends a request and reads the whole response.
    pub(super) async fn fetch(
        &self,
        request: Request,
        limit: Duration,
    ) -> Result<UpstreamResponse, UpstreamError> {
        let whole = async {
            let (parts, body) = self.send(request, limit).await?.into_parts();
            let (body, permit) = self.body_budget.read(body).await?;
            Ok(UpstreamResponse { status: parts.status, headers: parts.headers, body, _permit: permit })
        };
        let response = timeout(limit, whole).await.unwrap_or(Err(UpstreamError::Timeout(limit)));
        self.metrics.count(response.as_ref().map(|response| response.status));
        response
    }

    async fn send(&self, mut request: Request, limit: Duration) -> Result<Response, UpstreamError> {
        *request.uri_mut() =
            self.upstream_uri(request.uri()).map_err(|error| UpstreamError::Invalid(error.to_string()))?;
        *request.version_mut() = Version::HTTP_11;
        let headers = request.headers_mut();
        strip(headers);
        headers.remove(header::HOST);
        headers.append(header::VIA, self.name.clone());
        match timeout(limit, self.http.send(request)).await {
            Ok(Ok(mut response)) => {
                strip(response.headers_mut());
                Ok(response)
            }
            Ok(Err(error)) if error.is_unsent() => Err(UpstreamError::NotConnected(error.to_string())),
            Ok(Err(error)) => Err(UpstreamError::Unreachable(error.to_string())),
            Err(_) => Err(UpstreamError::Timeout(limit)),
        }
    }

    /// Same path and query at the upstream, byte by byte.
    fn upstream_uri(&self, requested: &Uri) -> Result<Uri, axum::http::Error> {
        let requested = requested.path_and_query().map_or("/", PathAndQuery::as_str);
        let base = self.base.path().trim_end_matches('/');
        let mut parts = self.base.clone().into_parts();
        parts.path_and_query = Some(format!("{base}{requested}").parse()?);
        Ok(Uri::from_parts(parts)?)
    }
}

/// Removes hop-by-hop headers, and those that `Connection` names.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
}

// === impl UpstreamResponse ===

impl UpstreamResponse {
    /// Error if the body is compressed, although the request asked for an identity encoding.
    pub(super) fn encoding_error(&self) -> Option<UpstreamError> {
        let encoding = self.headers.get(header::CONTENT_ENCODING).filter(|it| *it != "identity")?;
        Some(UpstreamError::Invalid(format!("its content encoding is {encoding:?}, which was not requested")))
    }
}

// === impl UpstreamError ===

impl UpstreamError {
    /// Whether the upstream is down or too slow.
    pub(super) fn is_unavailable(&self) -> bool {
        matches!(self, Self::NotConnected(_) | Self::Unreachable(_) | Self::Timeout(_))
    }
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConnected(why) | Self::Unreachable(why) => {
                write!(f, "the upstream Clouddriver does not answer: {why}")
            }
            Self::Timeout(limit) => write!(f, "the upstream Clouddriver did not answer within {limit:?}"),
            Self::Invalid(why) => write!(f, "the upstream Clouddriver cannot be used: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(url: &str) -> anyhow::Result<Client> {
        Client::build(url, "hub-a", &UpstreamSettings::default())
    }

    #[test]
    fn the_url_is_checked_and_paths_are_appended_unchanged() {
        for wrong in ["clouddriver:7002", "ftp://x", "http://", "http://user:secret@host", "no url"] {
            assert!(format!("{:#}", client(wrong).unwrap_err()).contains("upstream.url"), "{wrong}");
        }
        let uri = |base: &str, path: &str| {
            client(base).unwrap().upstream_uri(&path.parse().unwrap()).unwrap().to_string()
        };
        assert_eq!(
            uri("http://jvm:7002/", "/manifests/a/_/deployment%20x%2Fy?q=a%2Cb"),
            "http://jvm:7002/manifests/a/_/deployment%20x%2Fy?q=a%2Cb"
        );
        assert_eq!(uri("https://gate/cd/", "/a//../b"), "https://gate/cd/a//../b");
    }

    #[test]
    fn hop_by_hop_headers_are_removed() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Mine"),
            ("x-mine", "1"),
            ("te", "trailers"),
            ("x-spinnaker-user", "ann"),
            ("content-length", "3"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        strip(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-length", "x-spinnaker-user"]);
    }

    #[test]
    fn a_request_that_loops_is_detected() {
        let client = client("http://jvm:7002").unwrap();
        let via =
            |value: &'static str| HeaderMap::from_iter([(header::VIA, HeaderValue::from_static(value))]);
        assert!(client.has_passed(&via("1.1 proxy, 1.1 hub-a")));
        assert!(!client.has_passed(&via("1.1 hub-b")) && !client.has_passed(&HeaderMap::new()));
    }
}
