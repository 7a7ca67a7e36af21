//! HTTP client of the hub: for the upstream Clouddriver, for Front50 and for artifacts.
//!
//! ```text
//! request ──▶ HttpClient ──▶ Dial ──┬── proxy of the environment ──▶ tunnel, or the proxy itself for plain HTTP
//!                                   └── resolve ──▶ UrlRestrictions ──▶ connect to the checked addresses
//! download ──▶ one request per redirect, each URL checked before it is sent
//! ```
//!
//! Paths are sent byte by byte as given. A name is resolved once per connection, and only the addresses that were checked
//! are dialled, so that a name server cannot answer differently for the check and for the connection.

mod address;
mod dial;
mod download;
mod limit;
mod resolver;
mod restrictions;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderValue, Uri, header},
    response::Response,
};
use hyper_util::{
    client::legacy::{self, Client as PooledClient},
    rt::TokioExecutor,
};
use spindrift_process::{
    proxy::{Proxies, Proxy, ProxyError, Speaks},
    report,
};

use dial::Dial;
pub(crate) use dial::TlsSource;
pub(crate) use download::{Download, DownloadError, DownloadLimits, basic};
pub(crate) use resolver::Resolver;
pub(crate) use restrictions::{TargetRefused, UrlRestrictions};

/// `User-Agent` of the hub's own requests.
pub(crate) const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("spindrift-hub/", env!("CARGO_PKG_VERSION")));

/// HTTP client with a connection pool.
#[derive(Debug)]
pub(crate) struct HttpClient {
    pool: PooledClient<Dial, Body>,
    proxies: Proxies,
    restrictions: Option<Arc<UrlRestrictions>>,
}

/// Settings of a client.
#[derive(Debug)]
pub(crate) struct HttpClientSettings {
    pub(crate) connect_timeout: Duration,
    pub(crate) tls: TlsSource,
    pub(crate) proxies: Proxies,
    /// Servers that may be requested; all if absent.
    pub(crate) restrictions: Option<Arc<UrlRestrictions>>,
    pub(crate) resolver: Resolver,
}

/// Reason why there is no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpClientError {
    /// The restrictions do not allow the server; nothing was sent.
    #[error(transparent)]
    Refused(TargetRefused),
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    #[error("{}", report(.0))]
    Failed(legacy::Error),
}

// === impl HttpClient ===

impl HttpClient {
    /// Opens no connection yet.
    pub(crate) fn new(settings: HttpClientSettings) -> Self {
        let HttpClientSettings { connect_timeout, tls, proxies, restrictions, resolver } = settings;
        let dial = Dial {
            connect_timeout,
            tls,
            proxies: proxies.clone(),
            restrictions: restrictions.clone(),
            resolver,
        };
        Self { pool: PooledClient::builder(TokioExecutor::new()).build(dial), proxies, restrictions }
    }

    /// Sends one request to an absolute URI; redirects are not followed.
    pub(crate) async fn send(&self, mut request: Request) -> Result<Response, HttpClientError> {
        // A proxy receives plain requests itself instead of tunnelling them.
        if let Some(credentials) =
            plain_proxy(&self.proxies, request.uri())?.and_then(|proxy| proxy.authorization())
        {
            request.headers_mut().insert(header::PROXY_AUTHORIZATION, credentials);
        }
        match self.pool.request(request).await {
            Ok(response) => Ok(response.map(Body::new)),
            Err(error) => Err(HttpClientError::of(error)),
        }
    }
}

/// Proxy that receives the requests for a URI itself: of `http` only, since `https` is tunnelled.
fn plain_proxy(proxies: &Proxies, uri: &Uri) -> Result<Option<Proxy>, ProxyError> {
    match (uri.scheme_str(), uri.host()) {
        (Some("http"), Some(host)) => proxies.to(host, uri.port_u16().unwrap_or(80), Speaks::Http),
        _ => Ok(None),
    }
}

// === impl HttpClientError ===

impl HttpClientError {
    /// Whether there was no connection, so that nothing was sent.
    pub(crate) fn is_unsent(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Proxy(_) => true,
            Self::Failed(error) => error.is_connect(),
        }
    }

    fn of(error: legacy::Error) -> Self {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(error) = cause {
            if let Some(refused) = error.downcast_ref::<TargetRefused>() {
                return Self::Refused(refused.clone());
            }
            cause = error.source();
        }
        Self::Failed(error)
    }
}
