//! `artifacts.*`: from where files are fetched for pipelines, as Clouddriver's operators write it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use spindrift_process::config::redact;

use super::UrlRestrictionSettings;

/// `artifacts.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ArtifactSettings {
    /// Time limit of a download, with its redirects.
    pub timeout_ms: u64,
    /// Size limit of a file.
    pub max_bytes: u64,
    /// Files of web servers.
    pub http: HttpArtifacts,
    /// Charts of Helm repositories.
    pub helm: HelmArtifacts,
}

/// `artifacts.http.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HttpArtifacts {
    /// Lets the hub fetch URLs that pipelines name; off by default, as in Clouddriver. If on, there is always an account
    /// without a login, `no-auth-http-account`.
    pub enabled: bool,
    /// Servers that may be requested, unless an account has restrictions of its own.
    pub url_restrictions: UrlRestrictionSettings,
    /// Accounts with a login. One of the name `no-auth-http-account` takes the place of that account.
    pub accounts: Vec<HttpArtifactAccount>,
}

/// `artifacts.http.accounts[]`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HttpArtifactAccount {
    /// Its name in pipelines.
    pub name: String,
    /// The user.
    pub username: Option<String>,
    /// The user's password.
    #[serde(serialize_with = "redact::optional")]
    pub password: Option<String>,
    /// A file with `user:password`, read each time.
    pub username_password_file: Option<String>,
    /// The servers that receive the login, such as `https://files.example.com`: scheme, host and port must be those of
    /// the request. Names in `urlRestrictions.allowedDomains` of the account are such servers for `https://` on port 443.
    /// With a login, no other server is requested.
    pub login_urls: Vec<String>,
    /// The account's own restrictions, instead of `artifacts.http.urlRestrictions`.
    pub url_restrictions: Option<UrlRestrictionSettings>,
}

/// `artifacts.helm.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HelmArtifacts {
    /// Lets the hub fetch charts.
    pub enabled: bool,
    /// Servers that charts are fetched from, besides that of the repository itself. They never receive its login.
    pub url_restrictions: UrlRestrictionSettings,
    /// The repositories.
    pub accounts: Vec<HelmArtifactAccount>,
}

/// `artifacts.helm.accounts[]`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HelmArtifactAccount {
    /// Its name in pipelines.
    pub name: String,
    /// The URL below which `index.yaml` is.
    pub repository: String,
    /// The user.
    pub username: Option<String>,
    /// The user's password.
    #[serde(serialize_with = "redact::optional")]
    pub password: Option<String>,
    /// A file with `user:password`, read each time.
    pub username_password_file: Option<String>,
}

// === impl ArtifactSettings ===

impl ArtifactSettings {
    /// One account of each kind, so that their keys are known.
    pub(super) fn example() -> Self {
        Self {
            http: HttpArtifacts {
                accounts: vec![HttpArtifactAccount {
                    url_restrictions: Some(UrlRestrictionSettings::default()),
                    ..HttpArtifactAccount::default()
                }],
                ..HttpArtifacts::default()
            },
            helm: HelmArtifacts {
                accounts: vec![HelmArtifactAccount::default()],
                ..HelmArtifacts::default()
            },
            ..Self::default()
        }
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }
}

impl Default for ArtifactSettings {
    fn default() -> Self {
        Self {
            // As long as Spinnaker's services wait for Clouddriver.
            timeout_ms: 120_000,
            // The largest public charts have some megabytes; Orca holds a manifest in memory.
            max_bytes: 256 * 1024 * 1024,
            http: HttpArtifacts::default(),
            helm: HelmArtifacts::default(),
        }
    }
}
