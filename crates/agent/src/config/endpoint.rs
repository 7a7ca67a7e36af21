//! Where the agent itself listens: `server.*`, `prometheus.*`, `pprof.*`.

use serde::{Deserialize, Serialize};
use spindrift_process::{
    config::redact,
    tls::{ClientAuth, PemFile, ServerTls, ServerTlsFiles, TlsError},
};

/// `server.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Server {
    /// The address to bind, also for metrics and debugging; empty is all, or probes would fail.
    pub host: String,
    /// The port of health and the operators' endpoints.
    pub port: u16,
    /// TLS.
    pub ssl: Ssl,
    /// Accept `PUT /logging/level` from every client that reaches the port. Otherwise only from this machine (in
    /// Kubernetes: by `kubectl port-forward` or `exec`), and from clients that send a certificate (`ssl.clientAuth`).
    pub remote_changes: bool,
    /// Further names by which the ports may be called. On a loopback address, names of this machine are accepted and no
    /// others; on other addresses all are, unless this is set.
    pub allowed_hosts: Vec<String>,
    /// Web pages of other sites that may send requests, as `https://host:port`.
    pub allowed_origins: Vec<String>,
}

/// `server.ssl.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct Ssl {
    /// Serve TLS; probes must then have `scheme: HTTPS`.
    pub enabled: bool,
    /// The agent's certificate and those up to the root (PEM).
    pub cert_file: Option<String>,
    /// Its key (PEM).
    pub key_file: Option<String>,
    /// The key's password, for encrypted PKCS#8 (AES-CBC, PBKDF2). Also spelled `keyPassword`.
    #[serde(serialize_with = "redact::optional")]
    pub key_file_password: Option<String>,
    /// The CAs that clients' certificates must come from (PEM); the system's if absent.
    pub ca_cert_file: Option<String>,
    /// Client certificates: `none`, `want` or `request`, `need` or `any`.
    pub client_auth: ClientAuth,
}

/// `prometheus.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Prometheus {
    /// Serve metrics on a port of their own; `server.port` always has them too.
    pub enabled: bool,
    /// That port; plaintext.
    pub port: u16,
}

/// `pprof.*`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Pprof {
    /// Serve `/debug` on a port of its own; `server.port` always has it too. There are no profiles of Go:
    /// `/debug/tasks` lists the running tasks.
    pub enabled: bool,
    /// That port; plaintext.
    pub port: u16,
}

// === defaults ===

impl Default for Server {
    fn default() -> Self {
        Self {
            host: String::new(),
            port: 8082,
            ssl: Ssl::default(),
            remote_changes: false,
            allowed_hosts: vec![],
            allowed_origins: vec![],
        }
    }
}

impl Default for Prometheus {
    fn default() -> Self {
        Self { enabled: false, port: 8008 }
    }
}

impl Default for Pprof {
    fn default() -> Self {
        Self { enabled: false, port: 6060 }
    }
}

// === impl Ssl ===

impl Ssl {
    /// The port's TLS, if it is enabled.
    pub fn tls(&self) -> Result<Option<ServerTls>, TlsError> {
        if !self.enabled {
            return Ok(None);
        }
        let setting = |name| format!("server.ssl.{name}");
        let file =
            |name, path: &Option<String>| PemFile::new(setting(name), path.as_deref().unwrap_or_default());
        ServerTls::open(ServerTlsFiles {
            certificate_chain: file("certFile", &self.cert_file),
            private_key: file("keyFile", &self.key_file).with_password(self.key_file_password.clone()),
            client_auth: self.client_auth,
            trust: self.ca_cert_file.as_ref().map(|path| PemFile::new(setting("caCertFile"), path)),
            alpn: ServerTls::http(),
        })
        .map(Some)
    }
}
