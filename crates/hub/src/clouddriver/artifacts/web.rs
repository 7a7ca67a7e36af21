//! Downloads from web servers.

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use spindrift_process::{config::Env, proxy::Proxies, report};
use spindrift_spinnaker::Refusal;
use url::Url;

use super::{invalid, login::ServerLogin};
use crate::{
    config::ArtifactSettings,
    http_client::{
        Download, DownloadError, DownloadLimits, HttpClient, HttpClientSettings, Resolver, TlsSource,
        UrlRestrictions,
    },
};

/// Timeout of a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Timeout between two parts of a response.
const PAUSE: Duration = Duration::from_secs(30);

/// Web servers that an account may request, with a client of its own: a pooled connection is never used under the
/// restrictions of another account.
#[derive(Debug)]
pub(super) struct Web {
    client: HttpClient,
    limits: DownloadLimits,
}

/// Settings that all accounts share.
#[derive(Debug, Clone)]
pub(super) struct WebSettings {
    limits: DownloadLimits,
    proxies: Proxies,
    tls: TlsSource,
    pub(super) resolver: Resolver,
}

// === impl WebSettings ===

impl WebSettings {
    pub(super) fn new(config: &ArtifactSettings, env: &Env) -> Self {
        Self {
            limits: DownloadLimits { bytes: config.max_bytes, total: config.timeout(), pause: PAUSE },
            proxies: Proxies::of(env),
            tls: TlsSource::system(),
            resolver: Resolver::System,
        }
    }
}

// === impl Web ===

impl Web {
    pub(super) fn new(settings: &WebSettings, restrictions: UrlRestrictions) -> Self {
        let WebSettings { limits, proxies, tls, resolver } = settings.clone();
        let client = HttpClient::new(HttpClientSettings {
            connect_timeout: CONNECT,
            tls,
            proxies,
            restrictions: Some(Arc::new(restrictions)),
            resolver,
        });
        Self { client, limits }
    }

    /// Requests a file; the body is streamed.
    pub(super) async fn get(&self, url: Url, login: Option<&ServerLogin>) -> Result<Body, Refusal> {
        self.request(url, login, self.limits).await
    }

    /// Downloads a file of at most `most` bytes.
    pub(super) async fn whole(
        &self,
        url: Url,
        login: Option<&ServerLogin>,
        most: u64,
    ) -> Result<Bytes, Refusal> {
        let shown = shown(&url);
        let limits = DownloadLimits { bytes: most, ..self.limits };
        let mut parts = self.request(url, login, limits).await?.into_data_stream();
        let mut body = BytesMut::new();
        while let Some(part) = parts.next().await {
            let part = part.map_err(|error| {
                Refusal::bad_gateway(format!("{shown} was not received completely: {}", report(&error)))
            })?;
            body.extend_from_slice(&part);
        }
        Ok(body.freeze())
    }

    async fn request(
        &self,
        url: Url,
        login: Option<&ServerLogin>,
        limits: DownloadLimits,
    ) -> Result<Body, Refusal> {
        let shown = shown(&url);
        let credentials = match login {
            Some(login) => Some((login.header().await?, login.servers())),
            None => None,
        };
        let response = self.client.download(Download { url, credentials, limits }).await;
        response.map(axum::response::Response::into_body).map_err(|error| {
            let message = format!("{shown} could not be fetched: {}", report(&error));
            match error {
                DownloadError::Refused(_) => invalid(message),
                DownloadError::Deadline => Refusal::gateway_timeout(message),
                _ => Refusal::bad_gateway(message),
            }
        })
    }
}

/// URL of a file.
pub(super) fn parse(url: &str) -> Result<Url, Refusal> {
    let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    parsed.ok_or_else(|| invalid(format!("reference: expected an http or https URL, got {url}")))
}

/// URL for messages, without credentials and query.
fn shown(url: &Url) -> String {
    let mut url = url.clone();
    if url.set_username("").is_err() || url.set_password(None).is_err() {
        return "the artifact".to_owned();
    }
    url.set_query(None);
    url.into()
}
