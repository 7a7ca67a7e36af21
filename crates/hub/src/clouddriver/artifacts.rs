//! Artifact accounts, and fetching the artifacts that pipelines refer to.
//!
//! ```text
//! embedded/base64, remote/base64 ──▶ the reference itself
//! http/file ─────────────────────▶ the URL that is the reference
//! helm/index, helm/chart ────────▶ index.yaml of the repository ──▶ the chart that it names
//! kubernetes/* ──────────────────▶ not fetched: they are names of objects
//! ```
//!
//! Callers name URLs, and so do indexes of repositories. A login is sent only to the servers that the configuration names
//! for it; other servers are requested only as the `urlRestrictions` allow.

mod helm;
mod login;
mod version;
mod web;

use anyhow::Context as _;
use axum::body::Body;
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use serde::Serialize;
use spindrift_process::config::Env;
use spindrift_spinnaker::{Artifact, Refusal};
use tracing::warn;

use self::{
    helm::Repository,
    login::{Login, ServerLogin},
    web::{Web, WebSettings},
};
use crate::{config, http_client::UrlRestrictions};

/// Artifact accounts of this hub.
#[derive(Debug)]
pub struct Artifacts {
    accounts: Vec<ArtifactAccount>,
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
    Http { web: Web, login: Option<ServerLogin> },
    Helm(Repository),
}

/// Content of an artifact.
#[derive(Debug)]
pub enum Fetched {
    Whole(Bytes),
    /// Body that is still being received.
    Streamed(Body),
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
/// Account for servers without a login, as Clouddriver has it.
const NO_AUTH: &str = "no-auth-http-account";
const HTTP: [&str; 1] = ["http/file"];
const HELM_CHART: &str = "helm/chart";
const HELM_INDEX: &str = "helm/index";
const HELM: [&str; 2] = [HELM_CHART, HELM_INDEX];

// === impl Artifacts ===

impl Artifacts {
    /// Checks the settings; opens no connection yet.
    pub fn build(config: &config::ArtifactSettings, env: &Env) -> anyhow::Result<Self> {
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
        let settings = WebSettings::new(config, env);
        if config.http.enabled {
            accounts.extend(http_accounts(&config.http, &settings, env)?);
        }
        if config.helm.enabled {
            accounts.extend(helm_accounts(&config.helm, &settings, env)?);
        }
        Ok(Self { accounts })
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
            ArtifactSource::Http { web, login } => {
                let url = reference.ok_or_else(|| invalid("reference: expected a URL, got nothing"))?;
                let url = web::parse(url)?;
                if let Some(login) = login {
                    login.check(&account.name, &url)?;
                }
                web.get(url, login.as_ref()).await.map(Fetched::Streamed)
            }
            ArtifactSource::Helm(repository) if artifact.r#type.as_deref() == Some(HELM_INDEX) => {
                repository.fetch_index().await.map(Fetched::Streamed)
            }
            ArtifactSource::Helm(repository) => {
                let name =
                    artifact.name.as_deref().ok_or_else(|| invalid("name: expected the name of a chart"))?;
                let version = artifact.version.as_deref().filter(|version| !version.is_empty());
                repository.fetch_chart(name, version).await.map(Fetched::Streamed)
            }
            // Clouddriver's message. Clouddriver returns a 500, which callers retry although it never succeeds.
            ArtifactSource::Kubernetes => {
                Err(invalid("Kubernetes artifacts are retrieved by kubernetes directly"))
            }
        }
    }

    /// Names of the charts of an account.
    pub async fn names(&self, account: &ArtifactAccount) -> Result<Vec<String>, Refusal> {
        Ok(account.repository()?.index().await?.names())
    }

    /// Versions of a chart, in the order of the index.
    pub async fn versions(&self, account: &ArtifactAccount, name: &str) -> Result<Vec<String>, Refusal> {
        Ok(account.repository()?.index().await?.versions(name))
    }
}

/// Accounts for files of web servers. There is always one without a login, unless an account takes its place.
fn http_accounts(
    config: &config::HttpArtifacts,
    settings: &WebSettings,
    env: &Env,
) -> anyhow::Result<Vec<ArtifactAccount>> {
    const SETTING: &str = "artifacts.http.urlRestrictions";
    let no_auth = config::HttpArtifactAccount { name: NO_AUTH.to_owned(), ..Default::default() };
    let is_configured = config.accounts.iter().any(|account| account.name == NO_AUTH);
    let builtin = (!is_configured).then_some(&no_auth);
    let mut accounts: Vec<ArtifactAccount> = vec![];
    for account in builtin.into_iter().chain(&config.accounts) {
        let config::HttpArtifactAccount {
            name,
            username,
            password,
            username_password_file,
            login_urls,
            url_restrictions,
        } = account;
        if accounts.iter().any(|other| other.name == *name) {
            warn!(
                account = name,
                "artifacts.http.accounts: the name is used twice; only the first account is used"
            );
            continue;
        }
        let setting =
            if url_restrictions.is_some() { "artifacts.http.accounts[].urlRestrictions" } else { SETTING };
        let own = url_restrictions.as_ref();
        let of_account = || format!("artifacts.http.accounts[] of the name {name:?}");
        let servers = login::servers(login_urls).with_context(of_account)?;
        let rules = own.unwrap_or(&config.url_restrictions);
        let restrictions =
            UrlRestrictions::build(setting, rules, servers.clone(), env).with_context(of_account)?;
        let named = own.map(|own| own.allowed_domains.as_slice()).unwrap_or_default();
        let login = Login::of(username.as_ref(), password.as_ref(), username_password_file.as_ref());
        let login = login.map(|login| ServerLogin::new(login, servers, named));
        if login.as_ref().is_some_and(ServerLogin::has_no_server) {
            warn!(
                account = name,
                "the artifact account has a login, but no server may receive it: set artifacts.http.accounts[].loginUrls"
            );
        }
        let source = ArtifactSource::Http { web: Web::new(settings, restrictions), login };
        accounts.push(ArtifactAccount::new(name, &HTTP, "artifacts-http", source));
    }
    Ok(accounts)
}

/// Accounts for Helm repositories.
fn helm_accounts(
    config: &config::HelmArtifacts,
    settings: &WebSettings,
    env: &Env,
) -> anyhow::Result<Vec<ArtifactAccount>> {
    let account = |account: &config::HelmArtifactAccount| {
        let config::HelmArtifactAccount { name, repository, username, password, username_password_file } =
            account;
        // A repository that is no URL is reported when it is used: it must not stop the others.
        let servers = login::servers([repository]).unwrap_or_default();
        let login = Login::of(username.as_ref(), password.as_ref(), username_password_file.as_ref());
        let login = login.map(|login| ServerLogin::new(login, servers.clone(), &[]));
        let restrictions =
            UrlRestrictions::build("artifacts.helm.urlRestrictions", &config.url_restrictions, servers, env)?;
        let repository = Repository::new(repository, login, Web::new(settings, restrictions));
        Ok(ArtifactAccount::new(name, &HELM, "artifacts-helm", ArtifactSource::Helm(repository)))
    };
    config.accounts.iter().map(account).collect()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn artifacts(config: serde_json::Value) -> Artifacts {
        Artifacts::build(&serde_json::from_value(config).unwrap(), &Env::default()).unwrap()
    }

    #[test]
    fn accounts_are_shown_as_recorded() {
        // recording 310
        let shown = serde_json::to_value(artifacts(json!({"http": {"enabled": true}})).accounts());
        assert_eq!(
            shown.unwrap(),
            json!([
                {"name": "embedded-artifact", "types": ["embedded/base64", "remote/base64"], "type": "artifacts-embedded"},
                {"name": "kubernetes", "types": ["kubernetes/configMap", "kubernetes/deployment",
                    "kubernetes/replicaSet", "kubernetes/secret"], "type": "artifacts-kubernetes"},
                {"name": "no-auth-http-account", "types": ["http/file"], "type": "artifacts-http"}
            ])
        );
        assert_eq!(artifacts(json!({})).accounts().len(), 2);
    }

    #[test]
    fn an_account_without_login_that_is_configured_is_listed_once() {
        let accounts =
            json!([{"name": "web"}, {"name": "no-auth-http-account"}, {"name": "web", "username": "ann"}]);
        let artifacts = artifacts(json!({"http": {"enabled": true, "accounts": accounts}}));
        let names: Vec<_> = artifacts.accounts().iter().map(|account| account.name.as_str()).collect();
        assert_eq!(names, ["embedded-artifact", "kubernetes", "web", "no-auth-http-account"]);
    }

    #[test]
    fn invalid_settings_name_the_account() {
        let accounts = json!([{"name": "corp", "loginUrls": ["files.example.com"]}]);
        let config =
            serde_json::from_value(json!({"http": {"enabled": true, "accounts": accounts}})).unwrap();
        let error = format!("{:#}", Artifacts::build(&config, &Env::default()).unwrap_err());
        assert!(
            error.contains("\"corp\": loginUrls: expected http://host:port or https://host:port"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn embedded_artifacts_are_their_reference() {
        let artifacts = artifacts(json!({}));
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
