//! Connections of the HTTP client. Each TLS connection uses the certificate files as they are at that moment.

use std::{
    convert::Infallible,
    future::{Future, ready},
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use axum::{BoxError, http::Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{
    client::legacy::connect::{Connected, Connection, HttpConnector, dns::Name},
    rt::TokioIo,
};
use spindrift_process::{
    proxy::{Proxies, Speaks},
    tls::{ClientTls, ClientTlsFiles, RotatingClientTls, TlsError},
};
use tokio::{net::TcpStream, time::timeout};
use tower::{Service, service_fn};

use super::{resolver::Resolver, restrictions::UrlRestrictions};

/// Connector for `http` and, with rotating certificates, `https`.
#[derive(Debug, Clone)]
pub(super) struct Dial {
    pub(super) connect_timeout: Duration,
    pub(super) tls: TlsSource,
    pub(super) proxies: Proxies,
    pub(super) restrictions: Option<Arc<UrlRestrictions>>,
    pub(super) resolver: Resolver,
}

/// TLS of a client.
#[derive(Debug, Clone)]
pub(crate) enum TlsSource {
    /// Certificates in files.
    Files(Box<RotatingClientTls>),
    /// Certificates of the system, read for the first TLS connection: a system without any can use plain HTTP.
    System(Arc<OnceLock<ClientTls>>),
}

/// Connector without TLS, for one connection.
#[derive(Debug, Clone)]
pub(super) struct TcpDial(Dial);

/// TCP connection to a server, through a tunnel or not, or to a proxy that receives the requests itself.
#[derive(Debug)]
pub(super) struct TcpConnection {
    io: TokioIo<TcpStream>,
    is_to_proxy: bool,
}

type Connector = HttpsConnector<TcpDial>;

// === impl Dial ===

impl Service<Uri> for Dial {
    type Response = <Connector as Service<Uri>>::Response;
    type Error = BoxError;
    type Future = <Connector as Service<Uri>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let mut tcp = TcpDial(self.clone());
        if to.scheme_str() == Some("http") {
            return Box::pin(async move { Ok(MaybeHttpsStream::Http(tcp.call(to).await?)) });
        }
        match self.tls.current() {
            Ok(tls) => Connector::from((tcp, tls.config())).call(to),
            Err(error) => Box::pin(ready(Err(error.into()))),
        }
    }
}

impl Dial {
    async fn connect(&self, to: Uri) -> Result<TcpConnection, BoxError> {
        let speaks = if to.scheme_str() == Some("https") { Speaks::Https } else { Speaks::Http };
        let host = to.host().ok_or("the URL has no host")?;
        let port = to.port_u16().unwrap_or(if speaks == Speaks::Https { 443 } else { 80 });
        let proxy = self.proxies.to(host, port, speaks)?;
        let resolved = self.resolver.resolve(host, port).await;
        if let Some(restrictions) = &self.restrictions {
            match &resolved {
                Ok(addresses) => restrictions.check_addresses(&to, addresses)?,
                // Where only proxies reach the internet, this host often cannot resolve a name, and the proxy can.
                Err(_) if proxy.is_some() => restrictions.check_unresolved(&to, host)?,
                Err(_) => {}
            }
        }
        let Some(proxy) = proxy else {
            let addresses = resolved?;
            let checked =
                service_fn(move |_: Name| ready(Ok::<_, Infallible>(addresses.clone().into_iter())));
            let mut http = HttpConnector::new_with_resolver(checked);
            http.enforce_http(false);
            http.set_nodelay(true);
            http.set_connect_timeout(Some(self.connect_timeout));
            return Ok(TcpConnection { io: http.call(to).await?, is_to_proxy: false });
        };
        let connecting = async {
            let connection = timeout(self.connect_timeout, TcpStream::connect(proxy.place())).await;
            connection.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        };
        Ok(match speaks {
            Speaks::Https => TcpConnection {
                io: TokioIo::new(proxy.tunnel_by(connecting, host, port).await?),
                is_to_proxy: false,
            },
            Speaks::Http => TcpConnection { io: TokioIo::new(connecting.await?), is_to_proxy: true },
        })
    }
}

// === impl TlsSource ===

impl TlsSource {
    pub(crate) fn system() -> Self {
        Self::System(Arc::default())
    }

    fn current(&self) -> Result<ClientTls, TlsError> {
        match self {
            Self::Files(tls) => Ok(tls.current()),
            Self::System(read) => {
                if let Some(tls) = read.get() {
                    Ok(tls.clone())
                } else {
                    let tls = ClientTls::open(ClientTlsFiles::default())?;
                    Ok(read.get_or_init(|| tls).clone())
                }
            }
        }
    }
}

// === impl TcpDial ===

impl Service<Uri> for TcpDial {
    type Response = TcpConnection;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TcpConnection, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let dial = self.0.clone();
        Box::pin(async move { dial.connect(to).await })
    }
}

// === impl TcpConnection ===

impl Connection for TcpConnection {
    fn connected(&self) -> Connected {
        // Requests to a proxy have the whole URL in their first line.
        self.io.connected().proxy(self.is_to_proxy)
    }
}

impl Read for TcpConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl Write for TcpConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, buffers)
    }
}
