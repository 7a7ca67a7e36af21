//! Real proxies between agents and hubs: nginx and Envoy, which end TLS or pass it through.
//!
//! ```text
//! agent ══ TLS ══▶ nginx (grpc_pass), Envoy ── HTTP/2 ──▶ hub          each stream on its own
//! agent ══ TLS ══▶ nginx (stream) ═══════════ TLS ══════▶ hub          bytes, of one connection
//! ```

mod envoy;
mod nginx;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::certificates::Identity;
use crate::daemon::{Daemon, STARTUP};
use crate::guardian;
use crate::port::{free_port, loopback};

/// Installs Envoy, and prints its path.
const ENVOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/envoy");

/// Debian keeps it out of users' PATH.
const NGINX: [&str; 2] = ["/usr/sbin/nginx", "/usr/bin/nginx"];

/// Kind of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsProxyKind {
    /// nginx that ends TLS.
    Nginx,
    /// nginx that forwards bytes.
    NginxPassThrough,
    /// Envoy that ends TLS, and accepts requests with the scheme `https` only.
    Envoy,
}

/// Settings of a proxy.
#[derive(Debug, Clone, Copy)]
pub struct TlsProxyOptions<'a> {
    pub kind: TlsProxyKind,
    /// Its own certificate, if it ends TLS.
    pub identity: &'a Identity,
    /// Time after which it ends a stream or connection that is idle; the proxy's own default if none is given.
    pub idle: Option<Duration>,
}

/// A running proxy; killed when dropped.
pub struct TlsProxy {
    addr: SocketAddr,
    daemon: Daemon,
    _directory: TempDir,
}

/// Parameters of a configuration file.
struct ProxyFile<'a> {
    listen: SocketAddr,
    hub: SocketAddr,
    directory: &'a Path,
    options: TlsProxyOptions<'a>,
}

// === impl TlsProxy ===

impl TlsProxy {
    /// Starts a proxy before a hub.
    pub async fn start(hub: SocketAddr, options: TlsProxyOptions<'_>) -> anyhow::Result<Self> {
        let directory = guardian::scratch("proxy")?;
        let addr = loopback(free_port());
        let file = ProxyFile { listen: addr, hub, directory: directory.path(), options };
        let path = directory.path().join("config.yaml");
        let write = |text: String| std::fs::write(&path, text).context("write the configuration of a proxy");
        let mut command = match options.kind {
            TlsProxyKind::Nginx | TlsProxyKind::NginxPassThrough => {
                write(nginx::config(&file))?;
                let program = NGINX.iter().find(|program| Path::new(program).exists());
                let mut command = guardian::command(program.context("nginx is not installed")?)?;
                command.arg("-p").arg(directory.path()).args(["-e", "stderr", "-c"]);
                command
            }
            TlsProxyKind::Envoy => {
                write(envoy::config(&file))?;
                let mut command = guardian::command(envoy_program().await?)?;
                command.args(["--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]);
                command.arg("-c");
                command
            }
        };
        command.arg(&path);
        let daemon = Daemon::serve("proxy", command)?;
        let connected = || async { TcpStream::connect(addr).await.context("connect to the proxy") };
        daemon.ready(STARTUP, connected).await?;
        Ok(Self { addr, daemon, _directory: directory })
    }

    /// Address for agents.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// All that it has printed.
    pub fn log(&self) -> String {
        self.daemon.log()
    }
}

async fn envoy_program() -> anyhow::Result<PathBuf> {
    let output = Command::new(ENVOY).output().await.with_context(|| format!("run {ENVOY}"))?;
    anyhow::ensure!(output.status.success(), "{ENVOY}: {}", String::from_utf8_lossy(&output.stderr));
    let path = String::from_utf8(output.stdout).context("the path of Envoy is UTF-8")?;
    Ok(PathBuf::from(path.trim()))
}
