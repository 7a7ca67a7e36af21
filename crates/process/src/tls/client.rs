//! The client's side of TLS.

use std::io;
use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WantsClientCert, WebPkiServerVerifier};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::error::TlsError;
use super::pem::{PemFile, native_roots, usable_roots};
use super::provider;
use super::skip_verify::SkipVerify;

const REMEMBERED_SESSIONS: usize = 4;

/// The files and choices behind a client's TLS.
#[derive(Debug, Clone, Default)]
pub struct ClientTlsFiles {
    /// The name to expect of the server instead of the one that is dialled.
    pub server_name: Option<String>,
    /// Accept every server certificate.
    pub insecure_skip_verify: bool,
    /// Trusted issuers of the server's certificate; the system's certificates if absent.
    pub ca: Option<PemFile>,
    /// The certificate to show to the server.
    pub certificate: Option<PemFile>,
    /// The key of that certificate.
    pub key: Option<PemFile>,
    /// The protocols to ask for, best first; `h2` for gRPC.
    pub alpn: Vec<Vec<u8>>,
}

/// Parts of a client's TLS, for callers that have them in memory instead of files.
#[derive(Debug, Default)]
pub struct ClientTlsParts {
    /// The name to expect of the server instead of the one that is dialled.
    pub server_name: Option<String>,
    /// Verification of the server.
    pub trust: Trust,
    /// The certificate to show to the server, with those that have signed it, and its key.
    pub identity: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
    /// The protocols to ask for, best first.
    pub alpn: Vec<Vec<u8>>,
}

/// Verification of the server.
#[derive(Debug, Default)]
pub enum Trust {
    /// By the trust store of the operating system.
    #[default]
    System,
    /// Those whose certificate one of these (DER) has signed.
    Authorities(Vec<Vec<u8>>),
    /// Anyone.
    Anyone,
}

/// TLS of a client; clones share it.
#[derive(Debug, Clone)]
pub struct ClientTls {
    config: Arc<ClientConfig>,
    server_name: Option<ServerName<'static>>,
}

// === impl ClientTlsFiles ===

impl ClientTlsFiles {
    /// Verifier of the server's certificate.
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

    /// Puts the parts together.
    pub fn build(parts: ClientTlsParts) -> Result<Self, TlsError> {
        let ClientTlsParts { server_name, trust, identity, alpn } = parts;
        let verifier = match trust {
            Trust::System => trusting(native_roots()?)?,
            Trust::Authorities(authorities) => {
                trusting(usable_roots(authorities.into_iter().map(Into::into).collect())?)?
            }
            Trust::Anyone => anyone(),
        };
        let builder = config_builder(verifier)?;
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder.with_client_auth_cert(chain, key)?,
        };
        Self::finish(config, alpn, server_name)
    }

    /// Reads the files, but leaves the judgement of the server to another.
    pub(crate) fn with_verifier(
        files: ClientTlsFiles,
        verifier: Arc<dyn ServerCertVerifier>,
    ) -> Result<Self, TlsError> {
        let ClientTlsFiles { server_name, certificate, key, alpn, insecure_skip_verify: _, ca: _ } = files;
        let builder = config_builder(verifier)?;
        let config = match (certificate, key) {
            (None, None) => builder.with_no_client_auth(),
            (Some(certificate), Some(key)) => builder
                .with_client_auth_cert(certificate.certificates()?, key.key()?)
                .map_err(|source| key.refused(source))?,
            (Some(certificate), None) => return Err(certificate.alone("private key")),
            (None, Some(key)) => return Err(key.alone("certificate")),
        };
        Self::finish(config, alpn, server_name)
    }

    fn finish(
        mut config: ClientConfig,
        alpn: Vec<Vec<u8>>,
        server_name: Option<String>,
    ) -> Result<Self, TlsError> {
        config.alpn_protocols = alpn;
        // It talks to one server; room for the usual 256 would be reserved at once, for each account of an agent.
        config.resumption = Resumption::in_memory_sessions(REMEMBERED_SESSIONS);
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

fn config_builder(
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, TlsError> {
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier))
}

/// Reads a host name or an address; addresses of IPv6 come in brackets from URLs.
fn host_name(name: &str) -> Result<ServerName<'static>, TlsError> {
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    ServerName::try_from(bare.to_owned())
        .map_err(|source| TlsError::ServerName { name: name.to_owned(), source })
}
