//! Artifact accounts, and fetching the artifacts that pipelines refer to.
//!
//! ```text
//! embedded/base64, remote/base64 ──▶ the reference itself
//! http/file ─────────────────────▶ the URL that is the reference
//! helm/index, helm/chart ────────▶ index.yaml of the repository ──▶ the chart that it names
//! kubernetes/* ──────────────────▶ not fetched: they are names of objects
//! ```

mod helm;
mod version;
mod web;

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use serde::Serialize;
use spindrift_spinnaker::{Artifact, Refusal};

use self::{helm::Repository, web::Web};
use crate::config;

/// Artifact accounts of this hub.
#[derive(Debug)]
pub struct Artifacts {
    accounts: Vec<ArtifactAccount>,
    web: Web,
}

/// Artifact account, serialized as in `/artifacts/credentials`.
#[derive(Debug, Serialize)]
pub struct ArtifactAccount {
    name: String,
    types: &'static [&'static str],
    r#type: &'static str,
    #[serde(skip)]
    source: ArtifactSource,
}

#[derive(Debug)]
enum ArtifactSource {
    Embedded,
    Kubernetes,
    Http(Option<Login>),
    Helm(Repository),
}

/// Basic credentials for a web server.
#[derive(Clone)]
enum Login {
    Password {
        user: String,
        password: String,
    },
    /// Path of a file with `user:password`.
    File(String),
}

/// Content of an artifact.
#[derive(Debug)]
pub enum Fetched {
    Whole(Bytes),
    /// Body that is still being received.
    Streamed(reqwest::Response),
}

/// Base64 as Java decodes it: padding is optional, and trailing bits are ignored.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);
const EMBEDDED: [&str; 2] = ["embedded/base64", "remote/base64"];
const KUBERNETES: [&str; 4] =
    ["kubernetes/configMap", "kubernetes/deployment", "kubernetes/replicaSet", "kubernetes/secret"];
const HTTP: [&str; 1] = ["http/file"];
const HELM_CHART: &str = "helm/chart";
const HELM_INDEX: &str = "helm/index";
const HELM: [&str; 2] = [HELM_CHART, HELM_INDEX];

// === impl Artifacts ===

impl Artifacts {
    pub fn new(config: &config::ArtifactSettings) -> Self {
        let mut accounts = vec![
            ArtifactAccount::new(
                "embedded-artifact",
                &EMBEDDED,
                "artifacts-embedded",
                ArtifactSource::Embedded,
            ),
            ArtifactAccount::new(
                "kubernetes",
                &KUBERNETES,
                "artifacts-kubernetes",
                ArtifactSource::Kubernetes,
            ),
        ];
        if config.http.enabled {
            let http = |name: &str, login| {
                ArtifactAccount::new(name, &HTTP, "artifacts-http", ArtifactSource::Http(login))
            };
            accounts.push(http("no-auth-http-account", None));
            accounts.extend(config.http.accounts.iter().map(|account| {
                let config::HttpArtifactAccount { name, username, password, username_password_file } =
                    account;
                http(name, Login::of(username.as_ref(), password.as_ref(), username_password_file.as_ref()))
            }));
        }
        if config.helm.enabled {
            accounts.extend(config.helm.accounts.iter().map(|account| {
                let config::HelmArtifactAccount {
                    name,
                    repository,
                    username,
                    password,
                    username_password_file,
                } = account;
                let login = Login::of(username.as_ref(), password.as_ref(), username_password_file.as_ref());
                let repository = Repository::new(repository, login);
                ArtifactAccount::new(name, &HELM, "artifacts-helm", ArtifactSource::Helm(repository))
            }));
        }
        Self { accounts, web: Web::default() }
    }

    pub fn accounts(&self) -> &[ArtifactAccount] {
        &self.accounts
    }

    /// Account of this name that serves artifacts of this type.
    pub fn find(&self, name: &str, r#type: &str) -> Option<&ArtifactAccount> {
        self.accounts.iter().find(|account| account.name == name && account.types.contains(&r#type))
    }

    /// Fetches an artifact from an account.
    pub async fn fetch(&self, account: &ArtifactAccount, artifact: &Artifact) -> Result<Fetched, Refusal> {
        let reference = artifact.reference.as_deref();
        match &account.source {
            ArtifactSource::Embedded => {
                let reference =
                    reference.ok_or_else(|| invalid("reference: expected base64, got nothing"))?;
                let decoded = BASE64.decode(reference.trim());
                let decoded =
                    decoded.map_err(|error| invalid(format!("reference: expected base64: {error}")))?;
                Ok(Fetched::Whole(decoded.into()))
            }
            ArtifactSource::Http(login) => {
                let url = reference.ok_or_else(|| invalid("reference: expected a URL, got nothing"))?;
                self.web.get(url, login.as_ref()).await.map(Fetched::Streamed)
            }
            ArtifactSource::Helm(repository) if artifact.r#type.as_deref() == Some(HELM_INDEX) => {
                self.web.get(&repository.index_url(), repository.login()).await.map(Fetched::Streamed)
            }
            ArtifactSource::Helm(repository) => {
                let name =
                    artifact.name.as_deref().ok_or_else(|| invalid("name: expected the name of a chart"))?;
                let version = artifact.version.as_deref().filter(|version| !version.is_empty());
                let index = repository.index(&self.web).await?;
                let url = repository.chart_url(&index, name, version)?;
                self.web.get(&url, repository.login()).await.map(Fetched::Streamed)
            }
            // Clouddriver's message. Clouddriver returns a 500, which callers retry although it never succeeds.
            ArtifactSource::Kubernetes => {
                Err(invalid("Kubernetes artifacts are retrieved by kubernetes directly"))
            }
        }
    }

    /// Names of the charts of an account.
    pub async fn names(&self, account: &ArtifactAccount) -> Result<Vec<String>, Refusal> {
        Ok(account.repository()?.index(&self.web).await?.names())
    }

    /// Versions of a chart, in the order of the index.
    pub async fn versions(&self, account: &ArtifactAccount, name: &str) -> Result<Vec<String>, Refusal> {
        Ok(account.repository()?.index(&self.web).await?.versions(name))
    }
}

/// 400 for an artifact that cannot be fetched.
fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::illegal_argument(message)
}

// === impl ArtifactAccount ===

impl ArtifactAccount {
    fn new(name: &str, types: &'static [&'static str], r#type: &'static str, source: ArtifactSource) -> Self {
        Self { name: name.to_owned(), types, r#type, source }
    }

    fn repository(&self) -> Result<&Repository, Refusal> {
        match &self.source {
            ArtifactSource::Helm(repository) => Ok(repository),
            _ => Err(invalid(format!("artifact account {} cannot list its artifacts", self.name))),
        }
    }
}

// === impl Login ===

impl Login {
    fn of(user: Option<&String>, password: Option<&String>, file: Option<&String>) -> Option<Self> {
        let file = || file.map(|file| Self::File(file.clone()));
        let given = user.map(|user| Self::Password {
            user: user.clone(),
            password: password.cloned().unwrap_or_default(),
        });
        given.or_else(file)
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

    fn artifacts(config: serde_json::Value) -> Artifacts {
        Artifacts::new(&serde_json::from_value(config).unwrap())
    }

    #[test]
    fn accounts_are_shown_as_recorded() {
        // recording 310
        let shown =
            serde_json::to_value(artifacts(serde_json::json!({"http": {"enabled": true}})).accounts());
        assert_eq!(
            shown.unwrap(),
            serde_json::json!([
                {"name": "embedded-artifact", "types": ["embedded/base64", "remote/base64"], "type": "artifacts-embedded"},
                {"name": "kubernetes", "types": ["kubernetes/configMap", "kubernetes/deployment",
                    "kubernetes/replicaSet", "kubernetes/secret"], "type": "artifacts-kubernetes"},
                {"name": "no-auth-http-account", "types": ["http/file"], "type": "artifacts-http"}
            ])
        );
        assert_eq!(artifacts(serde_json::json!({})).accounts().len(), 2);
    }

    #[tokio::test]
    async fn embedded_artifacts_are_their_reference() {
        let artifacts = artifacts(serde_json::json!({}));
        let account = artifacts.find("embedded-artifact", "remote/base64").unwrap();
        let artifact =
            |reference: &str| Artifact { reference: Some(reference.into()), ..Artifact::default() };
        for (reference, text) in
            [("aGVsbG86IHdvcmxk", "hello: world"), ("aGk=", "hi"), ("aGk", "hi"), ("aGl=", "hi")]
        {
            let fetched = artifacts.fetch(account, &artifact(reference)).await;
            assert!(matches!(fetched, Ok(Fetched::Whole(found)) if found == text), "{reference}");
        }
        assert_eq!(artifacts.fetch(account, &artifact("%")).await.unwrap_err().status, 400);
        assert!(artifacts.find("embedded-artifact", "http/file").is_none());
        let kubernetes = artifacts.find("kubernetes", "kubernetes/secret").unwrap();
        assert_eq!(artifacts.fetch(kubernetes, &artifact("x")).await.unwrap_err().status, 400);
        assert_eq!(artifacts.names(kubernetes).await.unwrap_err().status, 400);
    }
}
