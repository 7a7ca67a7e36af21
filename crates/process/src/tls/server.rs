//! The server's side of TLS.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tracing::warn;

use super::error::TlsError;
use super::pem::{PemFile, native_roots};
use super::provider;
use crate::report;

/// Files are read again no more often than this.
const LOOK: Duration = Duration::from_mins(1);

/// Client certificates: not requested, requested, or required.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE", try_from = "String")]
pub enum ClientAuth {
    /// Clients are not asked.
    #[default]
    None,
    /// Clients may show one; if they do, it must be trusted.
    Optional,
    /// Clients must show one that is trusted.
    Require,
}

/// The files and choices behind a server's TLS.
#[derive(Debug, Clone)]
pub struct ServerTlsFiles {
    /// The certificate of the server, followed by those between it and the root.
    pub certificate_chain: PemFile,
    /// The key of the certificate.
    pub private_key: PemFile,
    /// Client certificates: not requested, requested, or required.
    pub client_auth: ClientAuth,
    /// Trusted issuers of clients' certificates; the system's certificates if absent.
    pub trust: Option<PemFile>,
    /// The protocols to offer, best first; [`ServerTls::http`] unless there is a reason.
    pub alpn: Vec<Vec<u8>>,
}

/// TLS of a server, whose files may be replaced while the process runs; clones share it.
#[derive(Debug, Clone)]
pub struct ServerTls {
    files: Arc<ServerTlsFiles>,
    config: Arc<ArcSwap<ServerConfig>>,
    /// When the files are to be read again.
    due: Arc<Mutex<Instant>>,
}

// === impl ClientAuth ===

impl FromStr for ClientAuth {
    type Err = String;

    /// Parses the values of both daemons in any case: grpc-spring's and those of the agent's `server.ssl`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "" | "none" => Ok(Self::None),
            "optional" | "want" | "request" => Ok(Self::Optional),
            "require" | "need" | "any" => Ok(Self::Require),
            _ => Err(format!("unknown client authentication `{text}`, expected NONE, OPTIONAL or REQUIRE")),
        }
    }
}

impl TryFrom<String> for ClientAuth {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

// === impl ServerTls ===

impl ServerTls {
    /// Names HTTP/2 and HTTP/1.1 as the protocols to offer.
    ///
    /// Also right for gRPC: a client of HTTP/1.1 then gets a response that names the problem instead of an alert.
    pub fn http() -> Vec<Vec<u8>> {
        vec![b"h2".to_vec(), b"http/1.1".to_vec()]
    }

    /// Reads the files.
    pub fn open(files: ServerTlsFiles) -> Result<Self, TlsError> {
        let config = Arc::new(ArcSwap::new(build(&files)?));
        Ok(Self { files: Arc::new(files), config, due: Arc::new(Mutex::new(Instant::now() + LOOK)) })
    }

    /// Gives the configuration for a new connection. Files that cannot be used, such as those that are just being
    /// replaced, change nothing.
    pub fn config(&self) -> Arc<ServerConfig> {
        let is_due = {
            let mut due = self.due.lock();
            let is_due = Instant::now() >= *due;
            if is_due {
                *due = Instant::now() + LOOK;
            }
            is_due
        };
        if is_due && let Err(error) = self.reload() {
            warn!(error = %report(&error), "TLS files cannot be used; those read before still are");
        }
        self.config.load_full()
    }

    fn reload(&self) -> Result<(), TlsError> {
        self.config.store(build(&self.files)?);
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn look_now(&self) {
        *self.due.lock() = Instant::now();
    }
}

fn build(files: &ServerTlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let ServerTlsFiles { certificate_chain, private_key, client_auth, trust, alpn } = files;
    let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
    let builder = match verifier(*client_auth, trust.as_ref())? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder
        .with_single_cert(certificate_chain.certificates()?, private_key.key()?)
        .map_err(|source| private_key.refused(source))?;
    config.alpn_protocols.clone_from(alpn);
    Ok(Arc::new(config))
}

fn verifier(
    client_auth: ClientAuth,
    trust: Option<&PemFile>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
    if client_auth == ClientAuth::None {
        return Ok(None);
    }
    let roots = trust.map_or_else(native_roots, PemFile::roots)?;
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
    let verifier = match client_auth {
        ClientAuth::Optional => builder.allow_unauthenticated().build()?,
        ClientAuth::None | ClientAuth::Require => builder.build()?,
    };
    Ok(Some(verifier))
}
