//! The client's side of TLS.

use std::io;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::TlsError;
use super::pem::{PemFile, native_roots};
use super::provider;
use super::skip_verify::SkipVerify;

/// The files and choices behind a client's TLS.
#[derive(Debug, Clone, Default)]
pub struct ClientTlsFiles {
    /// The name to expect of the server instead of the one that is dialled.
    pub server_name: Option<String>,
    /// Whether any server certificate is accepted.
    pub insecure_skip_verify: bool,
    /// Who is trusted to sign the server's certificate; the system's certificates if absent.
    pub ca: Option<PemFile>,
    /// The certificate to show to the server.
    pub certificate: Option<PemFile>,
    /// The key of that certificate.
    pub key: Option<PemFile>,
    /// The protocols to ask for, best first; `h2` for gRPC.
    pub alpn: Vec<Vec<u8>>,
}

/// TLS of a client; clones share it.
#[derive(Debug, Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    server_name: Option<ServerName<'static>>,
}

// === impl ClientTlsFiles ===

impl ClientTlsFiles {
    /// Who judges the server's certificate.
    pub(crate) fn verifier(&self) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
        if self.insecure_skip_verify {
            return Ok(anyone());
        }
        trusting(self.ca.as_ref().map_or_else(native_roots, PemFile::roots)?)
    }
}

/// Accepts every server.
pub(crate) fn anyone() -> Arc<dyn ServerCertVerifier> {
    Arc::new(SkipVerify::new(provider()))
}

/// Accepts servers whose certificate one of these has signed.
pub(crate) fn trusting(roots: RootCertStore) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    Ok(WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider()).build()?)
}

// === impl ClientTls ===

impl ClientTls {
    /// Reads the files.
    pub fn open(files: ClientTlsFiles) -> Result<Self, TlsError> {
        let verifier = files.verifier()?;
        Self::with_verifier(files, verifier)
    }

    /// Reads the files, but leaves the judgement of the server to another.
    pub(crate) fn with_verifier(
        files: ClientTlsFiles,
        verifier: Arc<dyn ServerCertVerifier>,
    ) -> Result<Self, TlsError> {
        let ClientTlsFiles { server_name, certificate, key, alpn, insecure_skip_verify: _, ca: _ } = files;
        let builder = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match (certificate, key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => builder
                .with_client_auth_cert(certificate.certificates()?, key.key()?)
                .map_err(|source| key.refused(source))?,
            (Some(certificate), None) => return Err(certificate.alone("private key")),
            (None, Some(key)) => return Err(key.alone("certificate")),
        };
        config.alpn_protocols = alpn;
        let server_name = server_name.map(|name| host_name(&name)).transpose()?;
        Ok(Self { config: Arc::new(config), server_name })
    }

    /// Gives the configuration, for connectors of other libraries.
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }

    /// Gives the name to expect of a server that is dialled as `host`.
    pub fn server_name(&self, host: &str) -> Result<ServerName<'static>, TlsError> {
        match &self.server_name {
            Some(name) => Ok(name.clone()),
            None => host_name(host),
        }
    }

    /// Secures a connection to a server that was dialled as `host`.
    pub async fn connect<IO>(&self, host: &str, connection: IO) -> io::Result<TlsStream<IO>>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        let name = self.server_name(host).map_err(io::Error::other)?;
        TlsConnector::from(self.config()).connect(name, connection).await
    }
}

/// Reads a host name or an address; addresses of IPv6 come in brackets from URLs.
fn host_name(name: &str) -> Result<ServerName<'static>, TlsError> {
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    ServerName::try_from(bare.to_owned())
        .map_err(|source| TlsError::ServerName { name: name.to_owned(), source })
}
