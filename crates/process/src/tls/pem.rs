//! PEM files, with the setting that names them.

use std::fmt;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tracing::debug;

use super::encrypted_key;
use super::error::TlsError;

/// A PEM file and the setting that names it.
#[derive(Clone, PartialEq, Eq)]
pub struct PemFile {
    setting: String,
    path: PathBuf,
    /// Of a key.
    password: Option<String>,
}

// === impl PemFile ===

impl fmt::Debug for PemFile {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, path, password: _ } = self;
        f.debug_struct("PemFile").field("setting", setting).field("path", path).finish_non_exhaustive()
    }
}

impl PemFile {
    /// Takes a location as users write it: `file:///path`, `file:/path` or a bare path.
    pub fn new(setting: impl Into<String>, location: &str) -> Self {
        Self { setting: setting.into(), path: crate::file_uri::to_path(location), password: None }
    }

    /// Gives the password of the key in the file, if it has one.
    #[must_use]
    pub fn with_password(mut self, password: Option<String>) -> Self {
        self.password = password.filter(|password| !password.is_empty());
        self
    }

    /// The setting that names the file.
    pub fn setting(&self) -> &str {
        &self.setting
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the certificates of the file; there is at least one.
    pub fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let text = self.read()?;
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text)
            .collect::<Result<_, _>>()
            .map_err(|source| self.not_pem(source))?;
        if certificates.is_empty() {
            return Err(self.empty("certificate"));
        }
        Ok(certificates)
    }

    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        let text = self.read()?;
        if encrypted_key::is_encrypted(&text) {
            let opened = encrypted_key::open(&text, self.password.as_deref());
            return opened.map_err(|reason| TlsError::EncryptedKey {
                setting: self.setting.clone(),
                file: self.path.clone(),
                reason,
            });
        }
        PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
            pem::Error::NoItemsFound => self.empty("private key"),
            source => self.not_pem(source),
        })
    }

    pub(super) fn roots(&self) -> Result<RootCertStore, TlsError> {
        usable_roots(self.certificates()?).map_err(|source| self.refused(source))
    }

    pub(super) fn refused(&self, source: rustls::Error) -> TlsError {
        TlsError::Refused { setting: self.setting.clone(), file: self.path.clone(), source }
    }

    pub(super) fn alone(&self, missing: &'static str) -> TlsError {
        TlsError::Alone { setting: self.setting.clone(), missing }
    }

    fn read(&self) -> Result<Vec<u8>, TlsError> {
        std::fs::read(&self.path).map_err(|source| TlsError::Read {
            setting: self.setting.clone(),
            file: self.path.clone(),
            source,
        })
    }

    fn not_pem(&self, source: pem::Error) -> TlsError {
        TlsError::Pem { setting: self.setting.clone(), file: self.path.clone(), source }
    }

    fn empty(&self, wanted: &'static str) -> TlsError {
        TlsError::Empty { setting: self.setting.clone(), file: self.path.clone(), wanted }
    }
}

/// Collects the certificates that can be used. Bundles contain old and odd ones, which are not needed; an error if
/// not even one is left.
pub(super) fn usable_roots(
    certificates: Vec<CertificateDer<'static>>,
) -> Result<RootCertStore, rustls::Error> {
    let mut roots = RootCertStore::empty();
    let mut odd = None;
    for certificate in certificates {
        if let Err(error) = roots.add(certificate) {
            debug!(%error, "a certificate authority cannot be used and is passed over");
            odd = Some(error);
        }
    }
    match odd.filter(|_| roots.is_empty()) {
        Some(error) => Err(error),
        None => Ok(roots),
    }
}

/// Collects the certificates that the operating system trusts.
pub(crate) fn native_roots() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let problems: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(TlsError::NoRoots { problems: problems.join(", ") });
    }
    Ok(roots)
}
