//! Client of Front50, which stores projects.

use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::BytesMut;
use http::{HeaderMap, StatusCode};
use reqwest::{Client, Url};
use spindrift_process::report;
use spindrift_spinnaker::{Refusal, view::Project};

use crate::config;

/// Client of Front50.
#[derive(Debug, Clone)]
pub struct Front50 {
    client: Client,
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
    pub fn build(config: &config::Front50Settings) -> anyhow::Result<Option<Self>> {
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
        let client = Client::builder()
            .user_agent(concat!("spindrift-hub/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .timeout(TIMEOUT)
            .build()
            .context("services.front50")?;
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
        let response = self.client.get(url).headers(forwarded).send().await.map_err(broken)?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => read(response).await.map(Some),
            status => Err(failed(&format_args!("it responded with {status}"))),
        }
    }
}

async fn read(mut response: reqwest::Response) -> Result<Project, Refusal> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > MAX_BYTES {
            return Err(failed(&format_args!("the project has more than {MAX_BYTES} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&body)
        .map_err(|error| failed(&format_args!("its response is not a project: {error}")))
}

fn broken(error: reqwest::Error) -> Refusal {
    failed(&report(&error.without_url()))
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
        let build = |url: &str| Front50::build(&config::Front50Settings { base_url: Some(url.to_owned()) });
        for url in ["front50:8080", "ftp://front50", "http://ann:secret@front50:8080"] {
            let error = format!("{:#}", build(url).unwrap_err());
            assert!(error.starts_with("services.front50.baseUrl: expected "), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(build("http://front50:8080/").unwrap().is_some());
        assert!(
            build(" ").unwrap().is_none()
                && Front50::build(&config::Front50Settings::default()).unwrap().is_none()
        );
    }
}
