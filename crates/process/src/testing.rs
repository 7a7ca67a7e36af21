//! Certificates for this crate's own tests.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

use crate::tls::{ClientAuth, ClientTlsFiles, PemFile, ServerTls, ServerTlsFiles};

/// A certificate authority, a server and a client in a directory of their own.
pub(crate) struct Pki {
    directory: TempDir,
}

// === impl Pki ===

impl Pki {
    pub(crate) fn new() -> Self {
        let pki = Self { directory: TempDir::new().unwrap() };
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        pki.write("ca.pem", &issuer.pem());
        for (name, hosts) in
            [("server", ["localhost", "hub.example"]), ("client", ["agent", "agent.example"])]
        {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new(hosts.map(String::from)).unwrap();
            let certificate = params.signed_by(&key, &issuer).unwrap();
            pki.write(&format!("{name}.pem"), &certificate.pem());
            pki.write(&format!("{name}.key"), &key.serialize_pem());
        }
        pki
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn pem(&self, setting: &str, name: &str) -> PemFile {
        PemFile::new(setting, &format!("file://{}", self.path(name).display()))
    }

    pub(crate) fn ca(&self) -> PemFile {
        self.pem("trust", "ca.pem")
    }

    pub(crate) fn server_files(&self, client_auth: ClientAuth) -> ServerTlsFiles {
        ServerTlsFiles {
            certificate_chain: self.pem("server certificate", "server.pem"),
            private_key: self.pem("server key", "server.key"),
            client_auth,
            trust: Some(self.ca()),
            alpn: ServerTls::http(),
        }
    }

    pub(crate) fn client_files(&self) -> ClientTlsFiles {
        ClientTlsFiles {
            ca: Some(self.ca()),
            certificate: Some(self.pem("client certificate", "client.pem")),
            key: Some(self.pem("client key", "client.key")),
            ..ClientTlsFiles::default()
        }
    }

    pub(crate) fn replace_server_with(&self, other: &Pki) {
        for name in ["server.pem", "server.key"] {
            std::fs::copy(other.path(name), self.path(name)).unwrap();
        }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }
}
