//! Downloads from web servers.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::{Client, Response, Url};
use spindrift_spinnaker::Refusal;
use tokio::sync::OnceCell;

use super::{Login, invalid};

/// Timeout of a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Timeout between two parts of a response.
const READ: Duration = Duration::from_secs(30);

/// HTTP client, built when it is first needed: most hubs fetch nothing.
#[derive(Debug, Default)]
pub(super) struct Web(OnceCell<Client>);

// === impl Web ===

impl Web {
    /// Requests a file; the body is streamed.
    pub(super) async fn get(&self, url: &str, login: Option<&Login>) -> Result<Response, Refusal> {
        let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let parsed =
            parsed.ok_or_else(|| invalid(format!("reference: expected an http or https URL, got {url}")))?;
        let shown = without_login(&parsed);
        let mut request = self.client().await?.get(parsed);
        if let Some(login) = login {
            let (user, password) = login.read().await?;
            request = request.basic_auth(user, Some(password));
        }
        let failed = |error: reqwest::Error| {
            Refusal::bad_gateway(format!(
                "{shown} could not be fetched: {}",
                spindrift_process::report(&error.without_url())
            ))
        };
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        if !status.is_success() {
            return Err(Refusal::bad_gateway(format!(
                "{shown} could not be fetched: it responded with {status}"
            )));
        }
        Ok(response)
    }

    /// Downloads a file of at most `most` bytes.
    pub(super) async fn whole(
        &self,
        url: &str,
        login: Option<&Login>,
        most: usize,
    ) -> Result<Bytes, Refusal> {
        let mut response = self.get(url, login).await?;
        let mut body = BytesMut::new();
        let broken = |error: reqwest::Error| {
            Refusal::bad_gateway(format!("{url} was not received completely: {}", error.without_url()))
        };
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            if body.len() + chunk.len() > most {
                return Err(Refusal::bad_gateway(format!("{url} has more than {most} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    async fn client(&self) -> Result<&Client, Refusal> {
        let build = || async {
            Client::builder()
                .user_agent(concat!("spindrift-hub/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT)
                .read_timeout(READ)
                .build()
        };
        let client = self.0.get_or_try_init(build).await;
        client.map_err(|error| {
            Refusal::internal(format!("the HTTP client for artifacts cannot be built: {error}"))
        })
    }
}

/// URL for messages, without credentials and query.
fn without_login(url: &Url) -> String {
    let mut url = url.clone();
    if url.set_username("").is_err() || url.set_password(None).is_err() {
        return "the artifact".to_owned();
    }
    url.set_query(None);
    url.into()
}

// === impl Login ===

impl Login {
    async fn read(&self) -> Result<(String, String), Refusal> {
        match self {
            Self::Password { user, password } => Ok((user.clone(), password.clone())),
            Self::File(file) => {
                let text = tokio::fs::read_to_string(file).await;
                let unreadable = |reason: &dyn std::fmt::Display| {
                    Refusal::internal(format!("usernamePasswordFile {file}: {reason}"))
                };
                let text = text.map_err(|error| unreadable(&error))?;
                let login =
                    text.trim().split_once(':').ok_or_else(|| unreadable(&"expected user:password"))?;
                Ok((login.0.to_owned(), login.1.to_owned()))
            }
        }
    }
}
