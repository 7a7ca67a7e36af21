//! `artifacts.*`: from where files are fetched for pipelines, as Clouddriver's operators write it.

use serde::{Deserialize, Serialize};
use spindrift_process::config::redact;

/// `artifacts.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct ArtifactSettings {
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
    /// Accounts with a login.
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
}

/// `artifacts.helm.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HelmArtifacts {
    /// Lets the hub fetch charts.
    pub enabled: bool,
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
                accounts: vec![HttpArtifactAccount::default()],
                ..HttpArtifacts::default()
            },
            helm: HelmArtifacts {
                accounts: vec![HelmArtifactAccount::default()],
                ..HelmArtifacts::default()
            },
        }
    }
}
