//! The way to the Clouddriver: requests as they came, answers as they come.

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
use hyper_util::{
    client::legacy::{Client as HttpClient, connect::HttpConnector},
    rt::TokioExecutor,
};
use spindrift_process::report;
use tokio::time::timeout;
use tokio_stream::StreamExt as _;

use super::{
    body_budget::{Room, Taken},
    dial::Dial,
    metrics::Metrics,
};
use crate::config::Upstream;

/// Headers that are between two neighbours, and not for those behind them.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    // It was answered when the body was first read.
    header::EXPECT,
];

/// The Clouddriver behind us.
#[derive(Debug)]
pub(super) struct Client {
    http: HttpClient<Dial, Body>,
    /// Its scheme and authority, and what its paths begin with.
    base: Uri,
    /// What we call ourselves in `Via`.
    name: HeaderValue,
    timeout: Duration,
    room: Room,
    metrics: Metrics,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Silence {
    /// It cannot be reached, or broke off.
    Down(String),
    /// It did not answer in time.
    Slow(Duration),
    /// It answered with something else than an answer.
    Useless(String),
}

/// A whole answer, for merging.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    _room: Taken,
}

// === impl Client ===

impl Client {
    /// Reads certificates; connects to nothing yet.
    pub(super) fn build(url: &str, name: &str, config: &Upstream) -> anyhow::Result<Self> {
        let base: Uri = url.trim().trim_end_matches('/').parse().context("upstream.url")?;
        let is_known = matches!(base.scheme_str(), Some("http" | "https"));
        let names_user = base.authority().is_some_and(|authority| authority.as_str().contains('@'));
        anyhow::ensure!(
            is_known && base.host().is_some_and(|host| !host.is_empty()) && !names_user,
            "upstream.url: expected http://host:port or https://host:port, found {url:?}"
        );
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(config.connect_timeout()));
        let tls = config.tls().context("upstream.tls")?;
        let http = HttpClient::builder(TokioExecutor::new()).build(Dial { http, tls });
        let name = HeaderValue::from_str(&format!("1.1 {name}")).context("the hub's name")?;
        Ok(Self {
            http,
            base,
            name,
            timeout: config.timeout(),
            room: Room::default(),
            metrics: Metrics::default(),
        })
    }

    /// What came of asking.
    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Whether a request has been here before: the Clouddriver behind us is ourselves, or has us behind it.
    pub(super) fn has_passed(&self, headers: &HeaderMap) -> bool {
        let all = headers.get_all(header::VIA);
        let mut hops = all.iter().filter_map(|via| via.to_str().ok()).flat_map(|via| via.split(','));
        hops.any(|hop| hop.trim() == self.name)
    }

    /// Passes a request on. The answer begins in time, or there is none; then it may take as long as it goes on.
    pub(super) async fn pass(&self, request: Request) -> Result<Response, Silence> {
        let patience = self.timeout;
        let answer = self.answered(request, patience).await;
        self.metrics.count(answer.as_ref().map(Response::status));
        let (parts, body) = answer?.into_parts();
        let parted = body.into_data_stream().timeout(patience).map(move |part| match part {
            Ok(part) => part.map_err(BoxError::from),
            Err(_) => {
                Err(BoxError::from(format!("the upstream Clouddriver paused for more than {patience:?}")))
            }
        });
        Ok(Response::from_parts(parts, Body::from_stream(parted)))
    }

    /// Asks, and takes the whole answer.
    pub(super) async fn ask(&self, request: Request, patience: Duration) -> Result<Said, Silence> {
        let whole = async {
            let (parts, body) = self.answered(request, patience).await?.into_parts();
            let (body, room) = self.room.read(body).await?;
            Ok(Said { status: parts.status, headers: parts.headers, body, _room: room })
        };
        let answer = timeout(patience, whole).await.unwrap_or(Err(Silence::Slow(patience)));
        self.metrics.count(answer.as_ref().map(|said| said.status));
        answer
    }

    async fn answered(&self, mut request: Request, patience: Duration) -> Result<Response, Silence> {
        *request.uri_mut() =
            self.place(request.uri()).map_err(|error| Silence::Useless(error.to_string()))?;
        *request.version_mut() = Version::HTTP_11;
        let headers = request.headers_mut();
        strip(headers);
        headers.remove(header::HOST);
        headers.append(header::VIA, self.name.clone());
        match timeout(patience, self.http.request(request)).await {
            Ok(Ok(response)) => {
                let mut response = response.map(Body::new);
                strip(response.headers_mut());
                Ok(response)
            }
            Ok(Err(error)) => Err(Silence::Down(report(&error))),
            Err(_) => Err(Silence::Slow(patience)),
        }
    }

    /// The same path and query there, letter by letter.
    fn place(&self, asked: &Uri) -> Result<Uri, axum::http::Error> {
        let asked = asked.path_and_query().map_or("/", PathAndQuery::as_str);
        let base = self.base.path().trim_end_matches('/');
        let mut parts = self.base.clone().into_parts();
        parts.path_and_query = Some(format!("{base}{asked}").parse()?);
        Ok(Uri::from_parts(parts)?)
    }
}

/// Takes off what is between two neighbours.
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

// === impl Said ===

impl Said {
    /// Why it cannot be read, if it cannot: it was told that nothing but plain text is understood.
    pub(super) fn unreadable(&self) -> Option<Silence> {
        let encoding = self.headers.get(header::CONTENT_ENCODING).filter(|it| *it != "identity")?;
        Some(Silence::Useless(format!("it answered in {encoding:?}, which it was not asked for")))
    }
}

// === impl Silence ===

impl Silence {
    /// Whether it is not there, or not in time.
    pub(super) fn is_absence(&self) -> bool {
        matches!(self, Self::Down(_) | Self::Slow(_))
    }
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down(why) => write!(f, "the upstream Clouddriver does not answer: {why}"),
            Self::Slow(patience) => write!(f, "the upstream Clouddriver did not answer within {patience:?}"),
            Self::Useless(why) => write!(f, "the upstream Clouddriver cannot be used: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(url: &str) -> anyhow::Result<Client> {
        Client::build(url, "hub-a", &Upstream::default())
    }

    #[test]
    fn the_url_is_checked_and_paths_go_below_it_as_they_are() {
        for wrong in ["clouddriver:7002", "ftp://x", "http://", "http://user:secret@host", "no url"] {
            assert!(format!("{:#}", client(wrong).unwrap_err()).contains("upstream.url"), "{wrong}");
        }
        let place =
            |base: &str, path: &str| client(base).unwrap().place(&path.parse().unwrap()).unwrap().to_string();
        assert_eq!(
            place("http://jvm:7002/", "/manifests/a/_/deployment%20x%2Fy?q=a%2Cb"),
            "http://jvm:7002/manifests/a/_/deployment%20x%2Fy?q=a%2Cb"
        );
        assert_eq!(place("https://gate/cd/", "/a//../b"), "https://gate/cd/a//../b");
    }

    #[test]
    fn what_is_between_neighbours_is_taken_off() {
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
    fn a_request_that_comes_round_is_known() {
        let client = client("http://jvm:7002").unwrap();
        let via =
            |value: &'static str| HeaderMap::from_iter([(header::VIA, HeaderValue::from_static(value))]);
        assert!(client.has_passed(&via("1.1 proxy, 1.1 hub-a")));
        assert!(!client.has_passed(&via("1.1 hub-b")) && !client.has_passed(&HeaderMap::new()));
    }
}
