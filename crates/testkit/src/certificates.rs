//! A certificate authority of the test's own, with everything as PEM files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use tempfile::TempDir;

use crate::guardian;

/// A certificate authority; a second instance is a foreign one, without trust.
pub struct Certificates {
    authority: CertifiedIssuer<'static, KeyPair>,
    authority_file: PathBuf,
    issued: AtomicU32,
    directory: TempDir,
}

/// A certificate and its PKCS#8 key.
#[derive(Clone, Debug)]
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

// === impl Certificates ===

impl Certificates {
    pub fn new() -> anyhow::Result<Self> {
        let directory = guardian::scratch("certificates")?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "spindrift test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().context("generate a key")?;
        let authority = CertifiedIssuer::self_signed(params, key).context("sign the authority")?;
        let authority_file = directory.path().join("ca.crt");
        fs::write(&authority_file, authority.pem()).context("write the authority's certificate")?;
        Ok(Self { authority, authority_file, issued: AtomicU32::new(0), directory })
    }

    /// The authority's certificate, for those who shall trust it.
    pub fn authority(&self) -> &Path {
        &self.authority_file
    }

    /// Issues a certificate for a server that is called `name`, `localhost` or `127.0.0.1`.
    pub fn server(&self, name: &str) -> anyhow::Result<Identity> {
        self.issue_server(name, None)
    }

    /// Issues a certificate for a server that ends at some time, which may be past.
    pub fn server_until(&self, name: &str, end: SystemTime) -> anyhow::Result<Identity> {
        self.issue_server(name, Some(end))
    }

    fn issue_server(&self, name: &str, end: Option<SystemTime>) -> anyhow::Result<Identity> {
        let mut names = vec![name.to_owned(), "localhost".to_owned(), "127.0.0.1".to_owned()];
        names.dedup();
        let params = CertificateParams::new(names).with_context(|| format!("{name:?} is no server name"))?;
        self.issue(name, params, ExtendedKeyUsagePurpose::ServerAuth, end)
    }

    /// Issues a certificate for a client, which Kubernetes takes for the user of that name.
    pub fn client(&self, common_name: &str) -> anyhow::Result<Identity> {
        self.issue(common_name, CertificateParams::default(), ExtendedKeyUsagePurpose::ClientAuth, None)
    }

    /// Issues a certificate for a client that ends at some time, which may be past.
    pub fn client_until(&self, common_name: &str, end: SystemTime) -> anyhow::Result<Identity> {
        self.issue(common_name, CertificateParams::default(), ExtendedKeyUsagePurpose::ClientAuth, Some(end))
    }

    fn issue(
        &self,
        common_name: &str,
        mut params: CertificateParams,
        usage: ExtendedKeyUsagePurpose,
        end: Option<SystemTime>,
    ) -> anyhow::Result<Identity> {
        if let Some(end) = end {
            params.not_after = end.into();
        }
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().context("generate a key")?;
        let certificate =
            params.signed_by(&key, &self.authority).with_context(|| format!("sign {common_name}"))?;
        // Numbered, because a name may be issued twice and need not be fit for a file.
        let number = self.issued.fetch_add(1, Ordering::Relaxed);
        let identity = Identity {
            certificate: self.directory.path().join(format!("{number}.crt")),
            key: self.directory.path().join(format!("{number}.key")),
        };
        fs::write(&identity.certificate, certificate.pem()).context("write a certificate")?;
        fs::write(&identity.key, key.serialize_pem()).context("write a key")?;
        Ok(identity)
    }
}
