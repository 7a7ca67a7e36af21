//! Address of an API server, its TLS settings, and the proxy before it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use aws_lc_rs::digest;
use http::{HeaderValue, Uri};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use spindrift_process::{
    proxy::Proxy,
    tls::{ClientTls, ClientTlsParts, TlsError, Trust},
};

use super::error::TransportError;

/// API server as loaded credentials describe it. If any of this changes, new connections are needed.
pub(crate) struct Server {
    url: String,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: Option<ClientTls>,
    pub(super) proxy: Option<Proxy>,
    ca_fingerprint: Option<String>,
    /// Digest of all that connections depend on, keys included, so that keys need not be kept for comparison.
    digest: Vec<u8>,
    /// Set when the server turned out to speak only HTTP/1.
    http1: AtomicBool,
}

/// Parts of a [`Server`].
pub(super) struct ServerParts {
    pub(super) url: Uri,
    pub(super) authorities: Option<Vec<Vec<u8>>>,
    pub(super) insecure: bool,
    pub(super) server_name: Option<String>,
    pub(super) identity: Option<ClientIdentity>,
    pub(super) proxy: Option<Proxy>,
}

/// Client certificate with its chain, and its key.
pub(super) struct ClientIdentity {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

// === impl Server ===

impl Server {
    pub(super) fn build(parts: ServerParts) -> Result<Self, TlsError> {
        let digest = parts.digest();
        let ServerParts { url, authorities, insecure, server_name, identity, proxy } = parts;
        let is_plain = url.scheme_str() == Some("http");
        let host = url.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = url.port_u16().unwrap_or(if is_plain { 80 } else { 443 });
        let ca_fingerprint = authorities.as_deref().map(fingerprint);
        let tls = if is_plain {
            None
        } else {
            Some(ClientTls::build(ClientTlsParts {
                server_name,
                trust: match authorities {
                    _ if insecure => Trust::Anyone,
                    Some(authorities) => Trust::Authorities(authorities),
                    None => Trust::System,
                },
                identity: identity.map(|ClientIdentity { chain, key }| (chain, key)),
                alpn: vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            })?)
        };
        let url = url.to_string().trim_end_matches('/').to_owned();
        Ok(Self { url, host, port, tls, proxy, ca_fingerprint, digest, http1: AtomicBool::new(false) })
    }

    /// Address without a trailing slash.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// SHA-256 of the trusted authorities.
    pub(crate) fn ca_fingerprint(&self) -> Option<&str> {
        self.ca_fingerprint.as_deref()
    }

    /// Whether connections to the other can be used for this one.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.digest == other.digest && self.proxy == other.proxy
    }

    pub(super) fn is_http1(&self) -> bool {
        self.http1.load(Relaxed)
    }

    pub(super) fn remember_http1(&self) {
        self.http1.store(true, Relaxed);
    }

    /// Returns the URL of a path.
    pub(super) fn uri_of(&self, path: &Uri) -> Result<Uri, http::Error> {
        Ok(format!("{}{path}", self.url).parse::<Uri>()?)
    }

    /// Returns the `Host` header of HTTP/1.
    pub(super) fn host_header(uri: &Uri) -> Result<HeaderValue, http::Error> {
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        Ok(HeaderValue::from_str(authority)?)
    }

    pub(super) fn broken(&self, source: hyper::Error) -> TransportError {
        TransportError::Broken { server: self.url.clone(), source }
    }
}

// === impl ServerParts ===

impl ServerParts {
    fn digest(&self) -> Vec<u8> {
        let Self { url, authorities, insecure, server_name, identity, proxy: _ } = self;
        let mut hash = digest::Context::new(&digest::SHA256);
        let mut add = |bytes: &[u8]| {
            hash.update(&bytes.len().to_be_bytes());
            hash.update(bytes);
        };
        add(url.to_string().as_bytes());
        add(&[u8::from(*insecure), u8::from(authorities.is_some()), u8::from(identity.is_some())]);
        add(server_name.as_deref().unwrap_or_default().as_bytes());
        for authority in authorities.iter().flatten() {
            add(authority);
        }
        if let Some(ClientIdentity { chain, key }) = identity {
            for certificate in chain {
                add(certificate);
            }
            add(key.secret_der());
        }
        hash.finish().as_ref().to_vec()
    }
}

/// SHA-256 of the certificates, independent of their order; for a single one the value that `openssl x509` prints.
fn fingerprint(certificates: &[Vec<u8>]) -> String {
    let mut certificates: Vec<_> = certificates.iter().collect();
    certificates.sort();
    certificates.dedup();
    let mut hash = digest::Context::new(&digest::SHA256);
    for certificate in certificates {
        hash.update(certificate);
    }
    let bytes: Vec<String> = hash.finish().as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
    bytes.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_of_a_bundle_does_not_depend_on_its_order() {
        let (a, b) = (vec![1], vec![2]);
        let of_both = fingerprint(&[a.clone(), b.clone()]);
        assert_eq!(of_both, fingerprint(&[b, a.clone(), a.clone()]));
        assert_ne!(of_both, fingerprint(&[a]));
    }
}
