//! Front50, which knows what a project is.

use std::time::Duration;

use anyhow::{Context, ensure};
use bytes::BytesMut;
use http::{HeaderMap, StatusCode};
use reqwest::{Client, Url};
use spindrift_process::report;
use spindrift_spinnaker::{Refusal, view::Project};

use crate::config;

/// Front50, if the hub knows one.
#[derive(Debug, Clone)]
pub struct Front50 {
    client: Client,
    base: Url,
}

/// A server that is there answers a handshake within this.
const CONNECT: Duration = Duration::from_secs(5);
/// As long as a project may take, all in all: people wait for it.
const PATIENCE: Duration = Duration::from_secs(10);
/// No project is as long.
const LONGEST: usize = 4 * 1024 * 1024;

/// Who asks, as Spinnaker's services tell each other.
const ABOUT_THE_CALLER: &str = "x-spinnaker-";

// === impl Front50 ===

impl Front50 {
    /// Checks the settings; nothing is asked yet. None if there is none.
    pub fn build(config: &config::Front50) -> anyhow::Result<Option<Self>> {
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
            .timeout(PATIENCE)
            .build()
            .context("services.front50")?;
        Ok(Some(Self { client, base }))
    }

    /// A project, by name or id, as the caller may see it; none if there is no such project.
    pub async fn project(&self, name: &str, caller: &HeaderMap) -> Result<Option<Project>, Refusal> {
        let about = caller.iter().filter(|(header, _)| header.as_str().starts_with(ABOUT_THE_CALLER));
        let about: HeaderMap = about.map(|(header, value)| (header.clone(), value.clone())).collect();
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| unanswered(&"its address has no paths"))?
            .pop_if_empty()
            .extend(["v2", "projects", name]);
        let response = self.client.get(url).headers(about).send().await.map_err(broken)?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => read(response).await.map(Some),
            status => Err(unanswered(&format_args!("it answered {status}"))),
        }
    }
}

async fn read(mut response: reqwest::Response) -> Result<Project, Refusal> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if body.len() + chunk.len() > LONGEST {
            return Err(unanswered(&format_args!("the project has more than {LONGEST} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    serde_json::from_slice(&body)
        .map_err(|error| unanswered(&format_args!("its answer is no project: {error}")))
}

fn broken(error: reqwest::Error) -> Refusal {
    unanswered(&report(&error.without_url()))
}

/// As Clouddriver answers (recording 288); the setting says what to look at.
fn unanswered(why: &dyn std::fmt::Display) -> Refusal {
    Refusal::internal(format!("Front50 (services.front50.baseUrl) did not tell the project: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_none_is_said() {
        let build = |url: &str| Front50::build(&config::Front50 { base_url: Some(url.to_owned()) });
        for url in ["front50:8080", "ftp://front50", "http://ann:secret@front50:8080"] {
            let error = format!("{:#}", build(url).unwrap_err());
            assert!(error.starts_with("services.front50.baseUrl: expected "), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(build("http://front50:8080/").unwrap().is_some());
        assert!(
            build(" ").unwrap().is_none() && Front50::build(&config::Front50::default()).unwrap().is_none()
        );
    }
}
