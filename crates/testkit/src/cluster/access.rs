//! Kubeconfigs and clients: who may talk to the API server, and which way.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tempfile::TempDir;

use crate::certificates::Certificates;
use crate::guardian;

/// The administrator's bearer token.
pub(super) const ADMIN_TOKEN: &str = "admin-token";

pub(super) struct Access {
    addr: SocketAddr,
    authority: String,
    admin_kubeconfig: PathBuf,
    admin_config: kube::Config,
    written: AtomicU32,
    directory: TempDir,
}

/// The API server's base address.
pub(super) fn url(addr: SocketAddr) -> String {
    format!("https://{addr}")
}

// === impl Access ===

impl Access {
    pub(super) async fn new(certificates: &Certificates, addr: SocketAddr) -> anyhow::Result<Self> {
        let directory = guardian::scratch("kubeconfig")?;
        let authority = base64_of(certificates.authority())?;
        let admin_kubeconfig = directory.path().join("admin");
        let text = render(&authority, addr, &admin_credentials());
        fs::write(&admin_kubeconfig, &text).context("write a kubeconfig")?;
        let parsed = Kubeconfig::from_yaml(&text).context("parse the kubeconfig")?;
        let mut admin_config = kube::Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default())
            .await
            .context("make a client configuration")?;
        // Loopback, whatever proxy the machine has.
        admin_config.proxy_url = None;
        Ok(Self { addr, authority, admin_kubeconfig, admin_config, written: AtomicU32::new(0), directory })
    }

    pub(super) fn client(&self) -> kube::Client {
        kube::Client::try_from(self.admin_config.clone()).expect("the configuration is our own")
    }

    pub(super) fn kubeconfig(&self) -> &Path {
        &self.admin_kubeconfig
    }

    pub(super) fn kubeconfig_via(&self, proxy: SocketAddr) -> anyhow::Result<PathBuf> {
        self.write(proxy, &admin_credentials())
    }

    pub(super) fn kubeconfig_for(&self, certificates: &Certificates, user: &str) -> anyhow::Result<PathBuf> {
        let identity = certificates.client(user)?;
        let credentials = format!(
            "client-certificate-data: {}, client-key-data: {}",
            base64_of(&identity.certificate)?,
            base64_of(&identity.key)?
        );
        self.write(self.addr, &credentials)
    }

    fn write(&self, addr: SocketAddr, credentials: &str) -> anyhow::Result<PathBuf> {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let path = self.directory.path().join(number.to_string());
        fs::write(&path, render(&self.authority, addr, credentials)).context("write a kubeconfig")?;
        Ok(path)
    }
}

fn admin_credentials() -> String {
    format!("token: {ADMIN_TOKEN}")
}

fn render(authority: &str, addr: SocketAddr, credentials: &str) -> String {
    let url = url(addr);
    format!(
        "apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context: {{cluster: test, user: test}}
clusters:
- name: test
  cluster: {{server: \"{url}\", certificate-authority-data: {authority}}}
users:
- name: test
  user: {{{credentials}}}
"
    )
}

fn base64_of(file: &Path) -> anyhow::Result<String> {
    let bytes = fs::read(file).with_context(|| format!("read {}", file.display()))?;
    Ok(BASE64_STANDARD.encode(bytes))
}
