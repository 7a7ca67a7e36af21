//! Accepts connections over TLS, for servers of the test's own.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::certificates::Identity;
use crate::port::{free_port, loopback};

pub(crate) struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

// === impl TlsListener ===

impl TlsListener {
    /// Listens on a free loopback port.
    pub(crate) async fn bind(identity: &Identity) -> anyhow::Result<Self> {
        let certificate =
            CertificateDer::from_pem_file(&identity.certificate).context("read a certificate")?;
        let key = PrivateKeyDer::from_pem_file(&identity.key).context("read a key")?;
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .context("choose the versions of TLS")?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .context("use a certificate")?;
        let tcp = TcpListener::bind(loopback(free_port())).await.context("listen")?;
        Ok(Self { tcp, acceptor: TlsAcceptor::from(Arc::new(config)) })
    }

    pub(crate) fn port(&self) -> anyhow::Result<u16> {
        Ok(self.tcp.local_addr().context("ask for the port")?.port())
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, peer) = Listener::accept(&mut self.tcp).await;
            // A client without TLS is dropped.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}
