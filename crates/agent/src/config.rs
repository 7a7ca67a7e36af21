//! The agent's options, with the names and defaults of the Scale Agent's `armory-agent.yml`.

mod account;
mod engine;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use spindrift_kubernetes::RedactRule;
use spindrift_process::{
    backoff::BackoffConfig,
    config::{Env, Schema, redact},
    logging::LoggingConfig,
    proxy::Proxies,
    tls::{ClientTls, ClientTlsFiles, PemFile, TlsError},
};

pub use account::{AccountConfig, CustomResource, CustomResourceScope};
pub use engine::{Tasks, Watches};

/// All of `armory-agent.yml`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct AgentConfig {
    /// The connection to the hub.
    pub clouddriver: Clouddriver,
    /// What is watched.
    pub kubernetes: Kubernetes,
    /// How much is started at once.
    pub tasks: Tasks,
    /// Where health and administration listen.
    pub server: Server,
    /// Where metrics listen.
    pub prometheus: Prometheus,
    /// What the agent logs.
    pub logging: LoggingConfig,
    /// Where the agent runs, for choosing among agents; computed if empty.
    pub zone_id: String,
    /// Ceiling for one request to an API server; 0 is the default of 30 s.
    pub timeout_seconds: u64,
}

/// `clouddriver.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Clouddriver {
    /// `host:port` of the hub, or of the proxy before it.
    pub grpc: String,
    /// Whether to speak plaintext; if not said, TLS is spoken when any of its files is named.
    pub insecure: Option<bool>,
    /// TLS.
    pub tls: Tls,
    /// Whether to ignore the proxies of the environment.
    pub no_proxy: bool,
    /// How reconnects are paced.
    pub backoff: BackoffSettings,
    /// Whether events are compressed, if the hub can read that; off, they can be read on the wire.
    pub compression: bool,
}

/// `clouddriver.tls.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Tls {
    /// The name the hub's certificate is expected to show.
    pub server_name: Option<String>,
    /// Whether to accept every certificate.
    pub insecure_skip_verify: bool,
    /// The CAs to trust (PEM); the system's if absent.
    pub cacert_file: Option<String>,
    /// The agent's own certificate (PEM).
    pub client_cert_file: Option<String>,
    /// Its key (PEM).
    pub client_key_file: Option<String>,
    /// The key's password.
    #[serde(serialize_with = "redact::optional")]
    pub client_key_file_password: Option<String>,
}

/// `clouddriver.backoff.*`, in nanoseconds as the original has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BackoffSettings {
    /// The first delay.
    pub base_delay: u64,
    /// How much longer each delay is than the one before.
    pub multiplier: f64,
    /// The share by which a delay is randomly shortened or lengthened.
    pub jitter: f64,
    /// The longest delay.
    pub max_delay: u64,
}

/// `kubernetes.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Kubernetes {
    /// The clusters, or sets of namespaces in them.
    pub accounts: Vec<AccountConfig>,
    /// Whether to ignore proxies for every cluster.
    pub no_proxy: bool,
    /// Values that never leave any cluster, by kind.
    pub redact: Vec<RedactRule>,
    /// How many accounts start their watches together; 0 is all of them.
    pub cache_group_size: u32,
    /// The pause between two such groups; 0 is none.
    pub cache_group_delay_ms: u64,
    /// How patient watches are.
    pub watches: Watches,
}

/// `server.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Server {
    /// The address to bind; empty is all, or probes would fail.
    pub host: String,
    /// The port to bind.
    pub port: u16,
}

/// `prometheus.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Prometheus {
    /// Whether metrics have a port of their own.
    pub enabled: bool,
    /// The port to bind.
    pub port: u16,
}

// === defaults ===

impl Default for Clouddriver {
    fn default() -> Self {
        Self {
            grpc: "spin-clouddriver-grpc:9091".into(),
            insecure: None,
            tls: Tls::default(),
            no_proxy: false,
            backoff: BackoffSettings::default(),
            compression: true,
        }
    }
}

impl Default for BackoffSettings {
    fn default() -> Self {
        Self { base_delay: 1_000_000_000, multiplier: 1.6, jitter: 0.2, max_delay: 120_000_000_000 }
    }
}

impl Default for Server {
    fn default() -> Self {
        Self { host: String::new(), port: 8082 }
    }
}

impl Default for Prometheus {
    fn default() -> Self {
        Self { enabled: false, port: 8008 }
    }
}

// === impl AgentConfig ===

impl Schema for AgentConfig {
    fn example() -> Self {
        Self {
            kubernetes: Kubernetes {
                accounts: vec![AccountConfig::example()],
                redact: vec![RedactRule::default()],
                ..Kubernetes::default()
            },
            ..Self::default()
        }
    }

    fn free_form() -> &'static [&'static str] {
        &["logging.fields", "kubernetes.accounts[].permissions"]
    }

    fn aliases() -> &'static [(&'static str, &'static str)] {
        &[("clouddriver.tls.clientKeyPassword", "clientKeyFilePassword")]
    }
}

// === impl Kubernetes ===

impl Kubernetes {
    /// An account with what holds for all accounts.
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

    /// The connection's TLS; none is plaintext.
    pub fn tls(&self) -> Result<Option<ClientTls>, TlsError> {
        self.tls_files().map(ClientTls::open).transpose()
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
            key: file("clientKeyFile", client_key_file),
            alpn: vec![b"h2".to_vec()],
        })
    }
}

// === impl BackoffSettings ===

impl From<&BackoffSettings> for BackoffConfig {
    fn from(settings: &BackoffSettings) -> Self {
        Self {
            base: Duration::from_nanos(settings.base_delay),
            multiplier: settings.multiplier,
            jitter: settings.jitter,
            max: Duration::from_nanos(settings.max_delay),
        }
    }
}

#[cfg(test)]
mod tests {
    use spindrift_process::config::ConfigFiles;

    use super::*;

    fn load(files: &[(&str, &str)]) -> AgentConfig {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        let env = Env::from_iter([("CLOUDDRIVER_GRPC", "from-env:9091")]);
        let loaded = ConfigFiles::agent(env).with_directory(directory.path()).load::<AgentConfig>().unwrap();
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        loaded.settings
    }

    #[test]
    fn accounts_are_read_in_both_spellings_with_profiles_over_them() {
        let config = load(&[
            (
                "armory-agent.yml",
                "kubernetes:\n  accounts:\n  - name: a\n    kubeConfigFile: /a\n    omitKinds: [Pod]\n",
            ),
            ("armory-agent-local.yml", "kubernetes.noProxy: true\nprometheus: { enabled: true }\n"),
        ]);
        let [account] = &config.kubernetes.accounts[..] else { panic!("one account") };
        assert_eq!((account.name.as_str(), account.kubeconfig_file.as_deref()), ("a", Some("/a")));
        assert!(config.kubernetes.no_proxy && config.prometheus.enabled);
        assert_eq!(config.clouddriver.grpc, "from-env:9091");
        assert!(config.clouddriver.tls().unwrap().is_none(), "no TLS file is named, so plaintext is spoken");
    }

    #[test]
    fn options_of_the_watch_engine_are_read_without_a_warning() {
        let config = load(&[(
            "armory-agent.yml",
            "tasks: { totalBudget: 7, budgetPerAccount: 0, queueCheckFrequencyMs: 1 }\n\
             kubernetes:\n  cacheGroupSize: 5\n  cacheGroupDelayMs: 5000\n  watches: { silenceMs: 9 }\n  accounts:\n\
             \x20 - { name: a, omitNamespaces: [x], onlyNamespacedResources: true, namespaces: [y],\n\
             \x20     customResourceDefinitions: [{ kind: Cart.example.com, scope: Cluster }, { kind: Till.example.com }] }\n",
        )]);
        let limits = config.limits();
        assert_eq!((limits.total, limits.per_account, limits.group_size), (7, 0, 5));
        assert_eq!(limits.group_delay, Duration::from_secs(5));
        assert_eq!(config.kubernetes.watches.pace().denied_retry, Duration::from_mins(5));
        let scopes =
            config.kubernetes.accounts[0].custom_resource_definitions.iter().map(|declared| declared.scope);
        assert_eq!(
            scopes.collect::<Vec<_>>(),
            [CustomResourceScope::Cluster, CustomResourceScope::Namespaced]
        );
    }

    #[test]
    fn the_legacy_names_are_read_where_there_is_nothing_newer() {
        let config =
            load(&[("kubesvc.yaml", "kubernetes: { accounts: [{ name: old, serviceAccount: true }] }")]);
        assert_eq!(config.kubernetes.accounts[0].name, "old");
        let config = load(&[
            ("kubesvc.yaml", "kubernetes: { accounts: [{ name: old, serviceAccount: true }] }"),
            ("armory-agent.yaml", "kubernetes: { accounts: [{ name: new, serviceAccount: true }] }"),
        ]);
        assert_eq!(config.kubernetes.accounts[0].name, "new");
    }
}
