//! Client of Front50, which stores projects.

use std::time::Duration;

use anyhow::{Context, ensure};
use axum::{body::Body, extract::Request};
use http::{HeaderMap, StatusCode, Uri, header};
use spindrift_process::{config::Env, proxy::Proxies};
use spindrift_spinnaker::{Refusal, view::Project};
use tokio::time::timeout;
use url::Url;

use crate::{
    config,
    http_client::{HttpClient, HttpClientSettings, Resolver, TlsSource, USER_AGENT},
    rest::body::{self, Unread},
};

/// Client of Front50.
#[derive(Debug)]
pub struct Front50 {
    client: HttpClient,
    base: Url,
}

/// Timeout of a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Timeout of a whole request: people wait for it.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Size of a project; none is as large.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Prefix of the headers by which Spinnaker's services identify the user.
const CALLER_HEADERS: &str = "x-spinnaker-";

// === impl Front50 ===

impl Front50 {
    /// Checks the settings; opens no connection yet. Returns none if Front50 is not configured.
    pub fn build(config: &config::Front50Settings, env: &Env) -> anyhow::Result<Option<Self>> {
        let Some(text) = config.base_url.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let base = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let base = base.with_context(|| {
            format!(
                "services.front50.baseUrl: expected http://host:port or https://host:port, found {text:?}"
            )
        })?;
        ensure!(
            base.username().is_empty() && base.password().is_none(),
            "services.front50.baseUrl: expected no user or password in it"
        );
        let client = HttpClient::new(HttpClientSettings {
            connect_timeout: CONNECT,
            tls: TlsSource::system(),
            proxies: Proxies::of(env),
            restrictions: None,
            resolver: Resolver::System,
        });
        Ok(Some(Self { client, base }))
    }

    /// Reads a project by name or id with the caller's rights; none if it does not exist.
    pub async fn project(&self, name: &str, caller: &HeaderMap) -> Result<Option<Project>, Refusal> {
        let forwarded = caller.iter().filter(|(header, _)| header.as_str().starts_with(CALLER_HEADERS));
        let forwarded: HeaderMap = forwarded.map(|(header, value)| (header.clone(), value.clone())).collect();
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| failed(&"its address has no paths"))?
            .pop_if_empty()
            .extend(["v2", "projects", name]);
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = url.as_str().parse::<Uri>().map_err(|error| failed(&error))?;
        *request.headers_mut() = forwarded;
        request.headers_mut().insert(header::USER_AGENT, USER_AGENT);
        let answer = timeout(TIMEOUT, self.answer(request)).await;
        answer.unwrap_or_else(|_| Err(failed(&"deadline exceeded")))
    }

    async fn answer(&self, request: Request) -> Result<Option<Project>, Refusal> {
        let response = self.client.send(request).await.map_err(|error| failed(&error))?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => read(response.into_body()).await.map(Some),
            // The caller's identity is not sent to a server that is not configured.
            status if status.is_redirection() => {
                Err(failed(&format_args!("it responded with {status}; redirects are not followed")))
            }
            status => Err(failed(&format_args!("it responded with {status}"))),
        }
    }
}

async fn read(response: Body) -> Result<Project, Refusal> {
    let body = body::read(response, MAX_BYTES).await.map_err(|unread| match unread {
        Unread::TooLarge(most) => failed(&format_args!("the project has more than {most} bytes")),
        Unread::BrokenOff | Unread::Refused(_) => failed(&"the connection broke"),
    })?;
    serde_json::from_slice(&body)
        .map_err(|error| failed(&format_args!("its response is not a project: {error}")))
}

/// 500, as Clouddriver's (recording 288); the message names the setting to check.
fn failed(why: &dyn std::fmt::Display) -> Refusal {
    Refusal::internal(format!("Front50 (services.front50.baseUrl) did not return the project: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_address_is_rejected() {
        let build = |url: &str| {
            let settings = config::Front50Settings { base_url: Some(url.to_owned()) };
            Front50::build(&settings, &Env::default())
        };
        for url in ["front50:8080", "ftp://front50", "http://ann:secret@front50:8080"] {
            let error = format!("{:#}", build(url).unwrap_err());
            assert!(error.starts_with("services.front50.baseUrl: expected "), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(build("http://front50:8080/").unwrap().is_some());
        assert!(
            build(" ").unwrap().is_none()
                && Front50::build(&config::Front50Settings::default(), &Env::default()).unwrap().is_none()
        );
    }
}
