//! `upstream.*`: the Clouddriver that this hub stands in front of.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use spindrift_process::tls::{ClientTlsFiles, PemFile, RotatingClientTls, TlsError};

/// `upstream.*`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct UpstreamSettings {
    /// Where a Clouddriver is that has the accounts that are not ours, such as `http://clouddriver:7002`. If absent,
    /// there is none.
    pub url: Option<String>,
    /// The accounts that it is asked for, in which `*` stands for any letters; all that are not ours if empty.
    pub accounts: Vec<String>,
    /// The paths that are passed on to it, such as `/aws/*`, in which `*` stands for any letters; all if empty.
    pub paths: Vec<String>,
    /// Time limit of a connection to it.
    pub connect_timeout_ms: u64,
    /// Time limit of forwarded requests: until a response begins, and between two parts of it.
    pub timeout_ms: u64,
    /// Time for which merged lists wait for its part.
    pub merge_timeout_ms: u64,
    /// Time for which its last accounts and applications are served, marked as stale, when it does not respond;
    /// Gate and Fiat would drop them. 0 is never.
    pub remember_seconds: u64,
    /// TLS to it, where its URL is `https://`.
    pub tls: UpstreamTls,
}

/// `upstream.tls.*`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
pub struct UpstreamTls {
    /// The CAs to trust (PEM); the system's if absent.
    pub cacert_file: Option<String>,
    /// Accepts every certificate.
    pub insecure_skip_verify: bool,
    /// The hub's own certificate (PEM), for mTLS; with `clientKeyFile`.
    pub client_cert_file: Option<String>,
    /// Its key (PEM).
    pub client_key_file: Option<String>,
}

// === impl UpstreamSettings ===

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            url: None,
            accounts: vec![],
            paths: vec![],
            connect_timeout_ms: 2000,
            // As long as Spinnaker's services themselves wait for Clouddriver.
            timeout_ms: 120_000,
            merge_timeout_ms: 5000,
            remember_seconds: 600,
            tls: UpstreamTls::default(),
        }
    }
}

impl UpstreamSettings {
    pub fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.connect_timeout_ms)
    }

    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    pub fn merge_timeout(&self) -> Duration {
        Duration::from_millis(self.merge_timeout_ms)
    }

    pub fn remember(&self) -> Duration {
        Duration::from_secs(self.remember_seconds)
    }

    pub fn tls(&self) -> Result<RotatingClientTls, TlsError> {
        let UpstreamTls { cacert_file, insecure_skip_verify, client_cert_file, client_key_file } = &self.tls;
        let file = |name: &str, path: &Option<String>| {
            path.as_deref().map(|path| PemFile::new(format!("upstream.tls.{name}"), path))
        };
        RotatingClientTls::open(ClientTlsFiles {
            server_name: None,
            insecure_skip_verify: *insecure_skip_verify,
            ca: file("cacertFile", cacert_file),
            certificate: file("clientCertFile", client_cert_file),
            key: file("clientKeyFile", client_key_file),
            alpn: vec![],
        })
    }
}
