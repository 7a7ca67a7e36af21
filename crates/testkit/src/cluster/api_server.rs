//! The API server, which tests stop, start and freeze.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, ensure};
use http::Request;
use parking_lot::Mutex;
use rcgen::KeyPair;
use tempfile::TempDir;

use super::access::{ADMIN_TOKEN, Access};
use super::etcd::Etcd;
use crate::certificates::{Certificates, Identity};
use crate::daemon::{Daemon, STARTUP};
use crate::guardian;
use crate::port::{free_port, loopback};

pub(super) struct ApiServer {
    testenv: PathBuf,
    etcd_url: String,
    etcd_prefix: String,
    addr: SocketAddr,
    certificates: Certificates,
    serving: Identity,
    daemon: Mutex<Option<Arc<Daemon>>>,
    directory: TempDir,
}

// === impl ApiServer ===

impl ApiServer {
    pub(super) fn new(testenv: &Path, etcd: &Etcd) -> anyhow::Result<Self> {
        let certificates = Certificates::new()?;
        let directory = guardian::scratch("api-server")?;
        let this = Self {
            testenv: testenv.to_owned(),
            etcd_url: etcd.url().to_owned(),
            etcd_prefix: etcd.new_prefix(),
            addr: loopback(free_port()),
            serving: certificates.server("localhost")?,
            certificates,
            daemon: Mutex::new(None),
            directory,
        };
        this.write_files().context("write the API server's files")?;
        Ok(this)
    }

    fn write_files(&self) -> anyhow::Result<()> {
        let key = KeyPair::generate().context("generate a key")?;
        fs::write(self.service_account_key(), key.serialize_pem())?;
        fs::write(self.file("sa.pub"), key.public_key_pem())?;
        // Other users have client certificates: those can be made while the server runs.
        fs::write(self.file("tokens.csv"), format!("{ADMIN_TOKEN},admin,admin,system:masters\n"))?;
        Ok(())
    }

    /// Starts the process and waits until it is ready.
    pub(super) async fn start(&self, access: &Access) -> anyhow::Result<()> {
        self.stop();
        let daemon = Arc::new(Daemon::serve("kube-apiserver", self.command()?)?);
        *self.daemon.lock() = Some(Arc::clone(&daemon));
        let client = access.client();
        daemon
            .ready(STARTUP, || {
                let client = client.clone();
                async move {
                    let answer = client.request_text(Request::get("/readyz").body(Vec::new())?).await?;
                    ensure!(answer == "ok", "not ready: {answer}");
                    Ok(())
                }
            })
            .await
    }

    fn command(&self) -> anyhow::Result<Command> {
        let mut command = guardian::command(&self.testenv)?;
        command.arg("kube-apiserver");
        let mut flag = |name: &str, value: &str| {
            command.arg(format!("--{name}={value}"));
        };
        flag("etcd-servers", &self.etcd_url);
        flag("etcd-prefix", &self.etcd_prefix);
        flag("bind-address", "127.0.0.1");
        flag("advertise-address", "127.0.0.1");
        flag("secure-port", &self.addr.port().to_string());
        flag("endpoint-reconciler-type", "none");
        flag("service-cluster-ip-range", "10.0.0.0/24");
        // Pods need no service account, and nodes are fit for pods at once.
        flag("disable-admission-plugins", "ServiceAccount,TaintNodesByCondition");
        flag("authorization-mode", "RBAC");
        flag("token-auth-file", &self.file("tokens.csv").to_string_lossy());
        flag("client-ca-file", &self.certificates.authority().to_string_lossy());
        flag("tls-cert-file", &self.serving.certificate.to_string_lossy());
        flag("tls-private-key-file", &self.serving.key.to_string_lossy());
        flag("service-account-issuer", "https://kubernetes.default.svc");
        flag("service-account-key-file", &self.file("sa.pub").to_string_lossy());
        flag("service-account-signing-key-file", &self.service_account_key().to_string_lossy());
        Ok(command)
    }

    pub(super) fn stop(&self) {
        let daemon = self.daemon.lock().take();
        if let Some(daemon) = daemon {
            daemon.kill();
        }
    }

    pub(super) fn freeze(&self) -> anyhow::Result<()> {
        self.running()?.freeze()
    }

    pub(super) fn thaw(&self) -> anyhow::Result<()> {
        self.running()?.thaw()
    }

    fn running(&self) -> anyhow::Result<Arc<Daemon>> {
        self.daemon.lock().clone().context("the API server is stopped")
    }

    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub(super) fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// The key that signs the tokens of service accounts.
    pub(super) fn service_account_key(&self) -> PathBuf {
        self.file("sa.key")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}
