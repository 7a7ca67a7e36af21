//! The agent's options, with the names and defaults of the Scale Agent's `armory-agent.yml`.

mod account;
mod apply;
mod auth;
mod endpoint;
mod engine;
mod limits;
mod permissions;
mod policy;
mod spinnaker;
mod unused;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use spindrift_kubernetes::RedactRule;
use spindrift_process::{
    backoff::BackoffConfig,
    config::{Env, Schema, Unused, redact},
    logging::LoggingConfig,
    proxy::Proxies,
    tls::{ClientTlsFiles, PemFile, RotatingClientTls, TlsError},
};
use spindrift_protocol::flow::MISSED_HEARTBEATS;

pub use account::{AccountConfig, CustomResource, CustomResourceScope};
pub use apply::{Choice, KindApply, ServerSideApply};
pub use auth::{Auth, TokenCommand, TokenFormat};
pub use endpoint::{Pprof, Prometheus, Server, Ssl};
pub use engine::{Tasks, Watches};
pub use permissions::Permissions;
pub use policy::CachingPolicy;
pub use spinnaker::{CustomKind, RawResources};

/// All of `armory-agent.yml`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentConfig {
    /// The connection to the hub.
    pub clouddriver: Clouddriver,
    /// Accounts and their watches.
    pub kubernetes: Kubernetes,
    /// Concurrency of the start.
    pub tasks: Tasks,
    /// Port of health and administration.
    pub server: Server,
    /// Port of metrics.
    pub prometheus: Prometheus,
    /// Port of debugging.
    pub pprof: Pprof,
    /// Logging of the agent.
    pub logging: LoggingConfig,
    /// Where the agent runs, as hubs show it; no hub chooses agents by it. If empty: `<deployment>_<namespace>` as the name
    /// of the pod tells them, else the agent's name.
    pub zone_id: String,
    /// Ceiling for one request to an API server; a watch: until it begins. 0 is the default of 30 s. A change restarts
    /// all accounts.
    pub timeout_seconds: u64,
}

/// `clouddriver.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Clouddriver {
    /// `host:port` of the hub, or of the proxy before it.
    pub grpc: String,
    /// `true` is plaintext, `false` is TLS. If absent: TLS when `cacertFile`, `clientCertFile`, `serverName` or
    /// `insecureSkipVerify` is set.
    pub insecure: Option<bool>,
    /// TLS.
    pub tls: Tls,
    /// Ignore the proxies of the environment.
    pub no_proxy: bool,
    /// Compress events, if the hub supports it; off, they can be read on the wire.
    pub compression: bool,
    /// A bearer token to show to the hub, or to a proxy before it.
    pub auth: Auth,
    /// Backoff of reconnects.
    pub backoff: BackoffSettings,
    /// Interval of pings; the hub's own if that is shorter. 0 leaves it to the hub.
    pub keep_alive_heartbeat_seconds: u64,
    /// A hub that is silent for this long is gone; 0 is three pings.
    pub keep_alive_time_out_seconds: u64,
    /// Retries of results of operations.
    pub response_retries: ResponseRetries,
}

/// `clouddriver.responseRetries.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResponseRetries {
    /// Resend results of operations that were not acknowledged: after a while, and in the next session.
    pub enabled: bool,
    /// Largest number of retries.
    pub max_retries: u32,
    /// The pause between two attempts.
    pub back_off_ms: u64,
}

/// `clouddriver.tls.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Tls {
    /// The name that the hub's certificate must show; the host that is dialled if absent.
    pub server_name: Option<String>,
    /// Accept every certificate.
    pub insecure_skip_verify: bool,
    /// The CAs to trust (PEM); the system's if absent.
    pub cacert_file: Option<String>,
    /// The agent's own certificate (PEM), for mTLS; with `clientKeyFile`.
    pub client_cert_file: Option<String>,
    /// Its key (PEM).
    pub client_key_file: Option<String>,
    /// The key's password, for encrypted PKCS#8 (AES-CBC, PBKDF2). Also spelled `clientKeyPassword`.
    #[serde(serialize_with = "redact::optional")]
    pub client_key_file_password: Option<String>,
}

/// `clouddriver.backoff.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BackoffSettings {
    /// The first delay between attempts to register, in nanoseconds as the original has it; at least a millisecond.
    pub base_delay: u64,
    /// Factor between one delay and the next; at least 1.
    pub multiplier: f64,
    /// The share by which a delay is randomly shortened or lengthened.
    pub jitter: f64,
    /// The longest delay, in nanoseconds.
    pub max_delay: u64,
}

/// `kubernetes.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Kubernetes {
    /// The clusters, or sets of namespaces in them.
    pub accounts: Vec<AccountConfig>,
    /// Ignore proxies for every cluster. A change restarts all accounts.
    pub no_proxy: bool,
    /// Values that never leave any cluster, by kind.
    pub redact: Vec<RedactRule>,
    /// Number of accounts that start their watches together; 0 is all of them.
    pub cache_group_size: u32,
    /// The pause between two such groups; 0 is none.
    pub cache_group_delay_ms: u64,
    /// Timeouts of watches.
    pub watches: Watches,
    /// The service accounts that accounts may assume, as `namespace/name`; `*` stands for any text without a slash.
    /// None by default.
    pub assumable_service_accounts: Vec<String>,
    /// The least time between the end of a session and the next attempt. If absent, a session that worked is taken up
    /// again at once: what was sent before is not sent again.
    pub reconnect_timeout_ms: Option<u64>,
    /// Lets callers of the hub read the values of Secrets (`reveal` of the verb `get`). By default they never leave the
    /// cluster.
    pub reveal_secrets: bool,
    /// Retries of failed requests of operations.
    pub retries: Retries,
    /// Server-side apply of manifests.
    pub server_side_apply: ServerSideApply,
}

/// `kubernetes.retries.*`. For operations; watches have a pace of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Retries {
    /// Retry failed requests of operations: reads, and changes that cannot happen twice.
    pub enabled: bool,
    /// Largest number of retries.
    pub max_retries: u32,
    /// The pause between two attempts.
    pub back_off_ms: u64,
    /// Retry every error.
    pub retry_any_error: bool,
    /// Parts of the errors that are; used only if `retryAnyError` is false.
    pub retryable_errors: Vec<String>,
}

// === defaults ===

impl Default for Clouddriver {
    fn default() -> Self {
        Self {
            grpc: "spin-clouddriver-grpc:9091".into(),
            insecure: None,
            tls: Tls::default(),
            no_proxy: false,
            compression: true,
            auth: Auth::default(),
            backoff: BackoffSettings::default(),
            keep_alive_heartbeat_seconds: 20,
            keep_alive_time_out_seconds: 0,
            response_retries: ResponseRetries::default(),
        }
    }
}

impl Default for ResponseRetries {
    fn default() -> Self {
        Self { enabled: true, max_retries: 3, back_off_ms: 3000 }
    }
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            enabled: true,
            max_retries: 3,
            back_off_ms: 3000,
            retry_any_error: false,
            retryable_errors: vec!["timeout".into(), "deadline exceeded".into()],
        }
    }
}

impl Default for BackoffSettings {
    fn default() -> Self {
        Self { base_delay: 1_000_000_000, multiplier: 1.6, jitter: 0.2, max_delay: 120_000_000_000 }
    }
}

// === impl AgentConfig ===

impl Schema for AgentConfig {
    fn example() -> Self {
        Self {
            kubernetes: Kubernetes {
                accounts: vec![AccountConfig::example()],
                redact: vec![RedactRule::default()],
                server_side_apply: ServerSideApply {
                    kinds: vec![KindApply::default()],
                    ..ServerSideApply::default()
                },
                ..Kubernetes::default()
            },
            ..Self::default()
        }
    }

    fn contained() -> &'static [&'static str] {
        &["kubernetes.accounts[]"]
    }

    fn strict() -> &'static [&'static str] {
        &["clouddriver.insecure", "clouddriver.tls", "clouddriver.auth", "server.ssl"]
    }

    fn limited_options(&self, is_set: &dyn Fn(&str) -> bool) -> Vec<String> {
        limits::warnings(self, is_set)
    }

    fn free_form() -> &'static [&'static str] {
        &["logging.fields", "kubernetes.accounts[].permissions"]
    }

    fn aliases() -> &'static [(&'static str, &'static str)] {
        &[
            ("clouddriver.tls.clientKeyPassword", "clientKeyFilePassword"),
            ("server.ssl.keyPassword", "keyFilePassword"),
            ("server.ssl.cacertFile", "caCertFile"),
        ]
    }

    fn unused() -> &'static [Unused] {
        unused::UNUSED
    }
}

// === impl Kubernetes ===

impl Kubernetes {
    /// Returns an account with the settings for all accounts.
    pub fn effective(&self, account: &AccountConfig) -> AccountConfig {
        let redact = [&self.redact[..], &account.redact].concat();
        AccountConfig { redact, ..account.clone() }
    }
}

// === impl Clouddriver ===

impl Clouddriver {
    /// The proxies that may be on the way to the hub.
    pub fn proxies(&self, env: &Env) -> Proxies {
        if self.no_proxy { Proxies::default() } else { Proxies::of(env) }
    }

    /// Returns the interval of pings, given the one that the hub sent.
    pub fn heartbeat(&self, of_hub: Duration) -> Duration {
        match self.keep_alive_heartbeat_seconds {
            0 => of_hub,
            seconds => of_hub.min(Duration::from_secs(seconds)),
        }
    }

    /// Returns the time without a message after which the hub counts as gone, given the interval of pings.
    pub fn silence(&self, heartbeat: Duration) -> Duration {
        match self.keep_alive_time_out_seconds {
            0 => heartbeat * MISSED_HEARTBEATS,
            // A response needs at least the time between two pings.
            seconds => Duration::from_secs(seconds).max(heartbeat * 2),
        }
    }

    /// The connection's TLS; none is plaintext.
    pub fn tls(&self) -> Result<Option<RotatingClientTls>, TlsError> {
        self.tls_files().map(RotatingClientTls::open).transpose()
    }

    /// The files and choices behind the connection's TLS; none is plaintext.
    pub fn tls_files(&self) -> Option<ClientTlsFiles> {
        let Tls { server_name, insecure_skip_verify, cacert_file, client_cert_file, client_key_file, .. } =
            &self.tls;
        let named = cacert_file.is_some()
            || client_cert_file.is_some()
            || *insecure_skip_verify
            || server_name.is_some();
        if self.insecure.unwrap_or(!named) {
            return None;
        }
        let file = |name, path: &Option<String>| {
            path.as_deref().map(|path| PemFile::new(format!("clouddriver.tls.{name}"), path))
        };
        Some(ClientTlsFiles {
            server_name: server_name.clone(),
            insecure_skip_verify: *insecure_skip_verify,
            ca: file("cacertFile", cacert_file),
            certificate: file("clientCertFile", client_cert_file),
            key: file("clientKeyFile", client_key_file)
                .map(|key| key.with_password(self.tls.client_key_file_password.clone())),
            alpn: vec![b"h2".to_vec()],
        })
    }
}

// === impl BackoffSettings ===

impl From<&BackoffSettings> for BackoffConfig {
    fn from(settings: &BackoffSettings) -> Self {
        Self {
            // No delay at all would turn a hub's absence into a storm.
            base: Duration::from_nanos(settings.base_delay).max(Duration::from_millis(1)),
            multiplier: settings.multiplier,
            jitter: settings.jitter,
            max: Duration::from_nanos(settings.max_delay).max(Duration::from_millis(1)),
        }
    }
}

#[cfg(test)]
mod tests;
