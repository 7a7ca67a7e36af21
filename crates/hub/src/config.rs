//! Settings of the hub: `kubesvc.*` with the keys of the Scale Agent, and a few of our own.

use std::time::Duration;

mod account_limits;
mod artifacts;
mod credentials;
mod kubernetes;
mod operations;
mod runtime;
mod services;
mod upstream;
mod url_restrictions;

use serde::{Deserialize, Serialize, Serializer};
use spindrift_model::{CacheKinds, DEFAULT_CACHE_KINDS, KindPattern};
use spindrift_process::{
    config::Schema,
    logging::LoggingConfig,
    tls::{ClientAuth, PemFile, ServerTls, ServerTlsFiles, TlsError},
};

pub use account_limits::{AccountLimitSettings, AccountSettings};
pub use artifacts::{
    ArtifactSettings, HelmArtifactAccount, HelmArtifacts, HttpArtifactAccount, HttpArtifacts,
};
pub use credentials::Credentials;
pub use kubernetes::{ArtifactBinding, JobStatus, Kubernetes, Marks};
pub use operations::{Encryption, Jobs, Operations, Ops};
pub use runtime::{Runtime, RuntimeSettings};
pub use services::{Front50Settings, Services};
pub use upstream::{UpstreamSettings, UpstreamTls};
pub use url_restrictions::UrlRestrictionSettings;

/// All of `spindrift-hub.yml`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct HubConfig {
    /// Sessions, cache and clustering.
    pub kubesvc: Kubesvc,
    /// The REST server.
    pub server: Server,
    /// The database.
    pub sql: Sql,
    /// Settings for all accounts.
    pub kubernetes: Kubernetes,
    /// Marks of accounts for Spinnaker.
    pub credentials: Credentials,
    /// From where files are fetched for pipelines.
    pub artifacts: ArtifactSettings,
    /// The other services of Spinnaker that the hub asks.
    pub services: Services,
    /// The Clouddriver that this hub stands in front of.
    pub upstream: UpstreamSettings,
    /// Logging.
    pub logging: LoggingConfig,
}

/// `kubesvc.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Kubesvc {
    /// The gRPC server that agents dial.
    pub grpc: Grpc,
    /// The cache.
    pub cache: Cache,
    /// Accounts of agents.
    pub accounts: AccountSettings,
    /// Operations of agents.
    pub operations: Operations,
    /// Scheduled jobs.
    pub jobs: Jobs,
    /// Metrics of operations.
    pub ops: Ops,
    /// Settings of accounts for Spinnaker.
    pub runtime: Runtime,
}

/// `kubesvc.grpc.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Grpc {
    /// Its address and TLS.
    pub server: GrpcServer,
    /// Authentication of agents.
    pub auth: GrpcAuth,
}

/// `kubesvc.grpc.server.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct GrpcServer {
    /// The address to bind; `*` is all.
    pub address: String,
    /// The port to bind.
    pub port: u16,
    /// Serves `grpc.health.v1`.
    pub health_service_enabled: bool,
    /// TLS.
    pub security: Security,
}

/// `kubesvc.grpc.server.security.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Security {
    /// Enables TLS.
    pub enabled: bool,
    /// The server's certificate chain (PEM).
    pub certificate_chain: Option<String>,
    /// Its private key (PEM).
    pub private_key: Option<String>,
    /// `NONE`, `OPTIONAL` or `REQUIRE`.
    pub client_auth: ClientAuth,
    /// The CAs that client certificates must come from (PEM).
    pub trust_cert_collection: Option<String>,
}

/// `kubesvc.grpc.auth.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct GrpcAuth {
    /// Subject filtering.
    pub x509: X509,
}

/// `kubesvc.grpc.auth.x509.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct X509 {
    /// Accepts only client certificates with a matching subject.
    pub enabled: bool,
    /// Regular expressions on the subject; any match admits.
    pub filters: Vec<String>,
}

/// `kubesvc.cache.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Cache {
    /// The kinds that agents cache: `Kind` or `Kind.group`.
    pub cache_kinds: Vec<String>,
    /// Kinds taken out of those.
    pub cache_omit_kinds: Vec<String>,
    /// Every kind.
    pub cache_all: bool,
    /// Time after which an account that no agent serves is deleted, with all its cached objects; 0 is never. A restart of
    /// the hub does not change it.
    pub account_cleanup_frequency_seconds: u64,
    /// Time limit of an operation, unless its caller sets one.
    pub operation_wait_ms: u64,
    /// Time for which an agent that reads less of an account than the previous one (by its permissions or configuration)
    /// stands by, so that one that reads all of it can take over. The original does not have it.
    pub narrower_agent_grace_seconds: u64,
}

/// `server.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Server {
    /// The address to bind: only this machine by default; empty is all addresses.
    pub host: String,
    /// The port to bind.
    pub port: u16,
    /// Further names by which the port may be called. On a loopback address, names of this machine are accepted and no
    /// others; on other addresses all are, unless this is set.
    pub allowed_hosts: Vec<String>,
    /// Web pages of other sites that may send requests, as `https://host:port`.
    pub allowed_origins: Vec<String>,
}

/// `sql.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Sql {
    /// `sqlite://…`, `postgres://…` or `mysql://…`.
    #[serde(serialize_with = "without_password")]
    pub url: String,
    /// Connections for reads.
    pub readers: u32,
    /// Connections for writes; SQLite has one.
    pub writers: u32,
    /// Time for which a deleted object stays in the change feed.
    pub tombstone_retention_seconds: u64,
}

// === defaults ===

impl Default for GrpcServer {
    fn default() -> Self {
        Self { address: "*".into(), port: 9091, health_service_enabled: true, security: Security::default() }
    }
}

impl Default for Cache {
    fn default() -> Self {
        let cache_kinds = DEFAULT_CACHE_KINDS.iter().map(ToString::to_string).collect();
        Self {
            cache_kinds,
            cache_omit_kinds: vec![],
            cache_all: false,
            account_cleanup_frequency_seconds: 600,
            operation_wait_ms: 30_000,
            narrower_agent_grace_seconds: 60,
        }
    }
}

impl Default for Server {
    fn default() -> Self {
        // REST has neither TLS nor authentication of its own.
        Self { host: "127.0.0.1".into(), port: 7002, allowed_hosts: vec![], allowed_origins: vec![] }
    }
}

impl Default for Sql {
    fn default() -> Self {
        // An hour covers a reader's restart; past that a reset is cheaper than keeping every deletion.
        Self {
            url: "sqlite://spindrift.db".into(),
            readers: 4,
            writers: 2,
            tombstone_retention_seconds: 3600,
        }
    }
}

/// The effective configuration is logged; the database's password is not.
fn without_password<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown(url))
}

/// A database's URL without its password, which may also be one of its parameters.
fn shown(url: &str) -> String {
    let (place, parameters) = url.split_once('?').unwrap_or((url, ""));
    let url = if parameters.contains("password") { place } else { url };
    let parts = url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?)));
    let Some((scheme, (user, place))) = parts else { return url.to_owned() };
    let user = user.split_once(':').map_or(user, |(user, _)| user);
    format!("{scheme}://{user}:…@{place}")
}

// === impl HubConfig ===

impl HubConfig {
    /// Returns the kinds that agents cache: those of `kubesvc.cache` and the custom kinds of accounts.
    pub fn cached_kinds(&self) -> CacheKinds {
        self.kubesvc.cache.kinds().with(self.kubesvc.runtime.custom_kinds())
    }
}

impl Schema for HubConfig {
    fn example() -> Self {
        let kubesvc = Kubesvc { runtime: Runtime::example(), ..Kubesvc::default() };
        Self { kubesvc, artifacts: ArtifactSettings::example(), ..Self::default() }
    }

    fn strict() -> &'static [&'static str] {
        &[
            "kubesvc.grpc.server.security",
            "kubesvc.grpc.auth",
            "kubesvc.operations.encryption",
            "sql.url",
            "upstream.tls",
        ]
    }

    fn free_form() -> &'static [&'static str] {
        &["logging.fields", "kubesvc.runtime.accounts"]
    }
}

// === impl Security ===

impl Security {
    /// The port's TLS, if it is enabled.
    pub fn tls(&self) -> Result<Option<ServerTls>, TlsError> {
        if !self.enabled {
            return Ok(None);
        }
        let setting = |name| format!("kubesvc.grpc.server.security.{name}");
        let file =
            |name, path: &Option<String>| PemFile::new(setting(name), path.as_deref().unwrap_or_default());
        let files = ServerTlsFiles {
            certificate_chain: file("certificateChain", &self.certificate_chain),
            private_key: file("privateKey", &self.private_key),
            client_auth: self.client_auth,
            trust: self
                .trust_cert_collection
                .as_ref()
                .map(|path| PemFile::new(setting("trustCertCollection"), path)),
            alpn: ServerTls::http(),
        };
        ServerTls::open(files).map(Some)
    }
}

// === impl Cache ===

impl Cache {
    /// Returns the time after which an account without an agent is deleted, if at all.
    pub fn account_cleanup(&self) -> Option<Duration> {
        (self.account_cleanup_frequency_seconds > 0)
            .then(|| Duration::from_secs(self.account_cleanup_frequency_seconds))
    }

    /// Returns the kinds that agents cache.
    pub fn kinds(&self) -> CacheKinds {
        let patterns = |texts: &[String]| texts.iter().map(|text| KindPattern::parse(text)).collect();
        CacheKinds {
            all: self.cache_all,
            kinds: patterns(&self.cache_kinds),
            omit: patterns(&self.cache_omit_kinds),
        }
    }
}

// === impl Sql ===

impl Sql {
    /// The URL without its password.
    pub fn shown_url(&self) -> String {
        shown(&self.url)
    }

    /// Time for which a deleted object stays in the change feed.
    pub fn tombstone_retention(&self) -> Duration {
        Duration::from_secs(self.tombstone_retention_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_password_is_not_shown() {
        let shown = |url: &str| {
            let sql = Sql { url: url.into(), ..Sql::default() };
            serde_json::to_value(sql).unwrap()["url"].clone()
        };
        assert_eq!(shown("postgres://hub:s3cr:@t@db:5432/hub"), "postgres://hub:…@db:5432/hub");
        assert_eq!(shown("postgres://db/hub?user=hub&password=s3cr"), "postgres://db/hub");
        assert_eq!(shown("sqlite://spindrift.db"), "sqlite://spindrift.db");
    }
}
