//! Logins of artifact accounts, and the servers that receive them.

use anyhow::Context as _;
use axum::http::HeaderValue;
use spindrift_spinnaker::Refusal;
use url::{Host, Origin, Url};

use super::invalid;
use crate::http_client::basic;

/// Basic credentials for a web server.
#[derive(Clone)]
pub(super) enum Login {
    Password {
        user: String,
        password: String,
    },
    /// Path of a file with `user:password`.
    File(String),
}

/// Login with the servers that receive it.
#[derive(Debug)]
pub(super) struct ServerLogin {
    login: Login,
    servers: Vec<Origin>,
}

/// Servers of URLs in the configuration.
pub(super) fn servers<'a>(urls: impl IntoIterator<Item = &'a String>) -> anyhow::Result<Vec<Origin>> {
    let server = |text: &'a String| {
        let url = Url::parse(text.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let expected =
            || format!("loginUrls: expected http://host:port or https://host:port, found {text:?}");
        Ok(url.with_context(expected)?.origin())
    };
    urls.into_iter().map(server).collect()
}

// === impl ServerLogin ===

impl ServerLogin {
    /// Login for these servers, and for `https` at these hosts. A host that is a regular expression is none.
    pub(super) fn new(login: Login, mut servers: Vec<Origin>, hosts: &[String]) -> Self {
        let hosts = hosts.iter().filter_map(|host| Host::parse(host.trim()).ok());
        servers.extend(hosts.map(|host| Origin::Tuple("https".to_owned(), host, 443)));
        Self { login, servers }
    }

    pub(super) fn has_no_server(&self) -> bool {
        self.servers.is_empty()
    }

    pub(super) fn servers(&self) -> &[Origin] {
        &self.servers
    }

    /// Checks that a server receives the login.
    pub(super) fn check(&self, account: &str, url: &Url) -> Result<(), Refusal> {
        let origin = url.origin();
        if self.servers.contains(&origin) {
            return Ok(());
        }
        Err(invalid(format!(
            "reference: the login of artifact account {account} is not for {} (artifacts.http.accounts[].loginUrls)",
            origin.ascii_serialization()
        )))
    }

    /// Value of `Authorization`.
    pub(super) async fn header(&self) -> Result<HeaderValue, Refusal> {
        let (user, password) = self.login.read().await?;
        basic(user.as_bytes(), password.as_bytes())
            .ok_or_else(|| Refusal::internal("the login of the artifact account cannot be sent"))
    }
}

// === impl Login ===

impl Login {
    pub(super) fn of(
        user: Option<&String>,
        password: Option<&String>,
        file: Option<&String>,
    ) -> Option<Self> {
        let file = || file.map(|file| Self::File(file.clone()));
        let given = user.map(|user| Self::Password {
            user: user.clone(),
            password: password.cloned().unwrap_or_default(),
        });
        given.or_else(file)
    }

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

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Login(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_for_scheme_host_and_port_of_its_servers() {
        let login = Login::of(Some(&"ann".to_owned()), None, None).unwrap();
        let urls = ["https://files.example.com/ignored/path".to_owned(), "http://10.0.0.1:8080".to_owned()];
        let hosts = ["git.example.com".to_owned(), ".*\\.example\\.org".to_owned()];
        let login = ServerLogin::new(login, servers(&urls).unwrap(), &hosts);
        for (url, is_for) in [
            ("https://files.example.com/x", true),
            ("https://FILES.example.com:443/x", true),
            ("http://files.example.com/x", false),
            ("https://files.example.com:8443/x", false),
            ("https://files.example.com.evil.org/x", false),
            ("https://files.example.com@evil.org/x", false),
            ("http://10.0.0.1:8080/x", true),
            ("http://10.0.0.1/x", false),
            ("https://git.example.com/x", true),
            ("http://git.example.com/x", false),
            ("https://a.example.org/x", false),
        ] {
            assert_eq!(login.check("corp", &Url::parse(url).unwrap()).is_ok(), is_for, "{url}");
        }
    }
}
