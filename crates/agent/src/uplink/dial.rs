//! Connection to the hub: direct or through a proxy, plaintext or TLS, with a hint if the other side uses another protocol.

use std::{io, time::Duration};

use hyper_util::rt::TokioIo;
use spindrift_process::{
    proxy::{Proxies, Speaks},
    tls::RotatingClientTls,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpSocket, TcpStream, lookup_host},
    time::timeout,
};
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

/// Deadline of a connect: a hub that does not even accept the connection is unavailable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes that the kernel may hold of our output: it has no priorities, so a ping waits behind all of it. Enough for 2 MB/s
/// over a link of 100 ms, and those bytes are compressed.
const SEND_BUFFER: u32 = 256 * 1024;

/// Opens connections to the hub.
#[derive(Debug, Clone)]
pub struct Dialer {
    address: String,
    tls: Option<RotatingClientTls>,
    proxies: Proxies,
    compression: bool,
}

/// Error for a hub that cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The address is invalid.
    #[error("clouddriver.grpc: expected host:port, found {address:?}")]
    Address {
        /// Configured address.
        address: String,
        /// Cause.
        source: tonic::transport::Error,
    },
    /// No hub is listening at the address.
    #[error("connect to the hub at {address}{hint}")]
    Connect {
        /// Configured address.
        address: String,
        /// Setting to change, if the cause is known.
        hint: &'static str,
        /// Cause.
        source: tonic::transport::Error,
    },
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

// === impl Dialer ===

impl Dialer {
    /// Returns a dialer of `host:port`, with or without TLS, without a proxy.
    pub fn new(address: impl Into<String>, tls: Option<RotatingClientTls>) -> Self {
        Self { address: address.into(), tls, proxies: Proxies::default(), compression: true }
    }

    /// Connects through one of these proxies, if it applies to the hub.
    #[must_use]
    pub fn through(self, proxies: Proxies) -> Self {
        Self { proxies, ..self }
    }

    /// Sets whether compression is offered.
    #[must_use]
    pub fn with_compression(self, compression: bool) -> Self {
        Self { compression, ..self }
    }

    pub(super) fn compresses(&self) -> bool {
        self.compression
    }

    /// Returns the configured address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Opens one HTTP/2 connection; its channels end with it.
    pub async fn dial(&self, heartbeat: Duration) -> Result<Channel, DialError> {
        let bare = self.address.trim_start_matches("http://").trim_start_matches("https://");
        let invalid = |source| DialError::Address { address: self.address.clone(), source };
        let mut endpoint = Endpoint::from_shared(format!("http://{bare}")).map_err(invalid)?;
        if self.tls.is_some() {
            // Requests only: the connection's own scheme stays http, or tonic would require its own TLS.
            let secure = Endpoint::from_shared(format!("https://{bare}")).map_err(invalid)?;
            endpoint = endpoint.origin(secure.uri().clone());
        }
        let endpoint = endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            // Both sides notice a half-open link: the agent here, the hub by its own pings.
            .http2_keep_alive_interval(heartbeat)
            .keep_alive_timeout(heartbeat * 2)
            .keep_alive_while_idle(true);
        let dialer = self.clone();
        let connector = service_fn(move |uri: Uri| {
            let dialer = dialer.clone();
            async move { dialer.connect(&uri).await.map(TokioIo::new) }
        });
        endpoint.connect_with_connector(connector).await.map_err(|source| DialError::Connect {
            address: self.address.clone(),
            hint: self.hint(&source),
            source,
        })
    }

    async fn connect(&self, uri: &Uri) -> io::Result<Box<dyn Io>> {
        let host = uri.host().unwrap_or_default();
        let port = uri.port_u16().unwrap_or(if self.tls.is_some() { 443 } else { 80 });
        let tcp = self.reach(host, port).await?;
        let Some(tls) = &self.tls else { return Ok(Box::new(tcp)) };
        let handshake = timeout(CONNECT_TIMEOUT, async { tls.current().connect(host, tcp).await });
        let stream = handshake.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(io::Error::other(
                "the other side does not offer HTTP/2 (ALPN h2); a proxy in between must pass it through",
            ));
        }
        Ok(Box::new(stream))
    }

    async fn reach(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        // gRPC counts as HTTPS also in plaintext, as in the Armory agent.
        if let Some(proxy) = self.proxies.to(host, port, Speaks::Https).map_err(io::Error::other)? {
            let (its_host, its_port) = proxy.place();
            let tunnel = proxy.tunnel_by(connect(its_host, its_port), host, port);
            return tunnel.await.map_err(io::Error::other);
        }
        let tcp = connect(host.trim_matches(['[', ']']), port).await?;
        tcp.set_nodelay(true)?;
        Ok(tcp)
    }

    /// Returns a hint for the usual mistake, a wrong `insecure` on one of both sides, which the libraries' errors do not name.
    fn hint(&self, error: &tonic::transport::Error) -> &'static str {
        let text = spindrift_process::report(error);
        // `HandshakeFailure` is the alert that our own hub sends where it serves plaintext.
        let not_tls = ["InvalidContentType", "corrupt message", "HandshakeFailure"];
        if self.tls.is_some() && not_tls.iter().any(|error| text.contains(error)) {
            " (it may not speak TLS there: set clouddriver.insecure: true, or switch on the hub's kubesvc.grpc.server.security)"
        } else {
            ""
        }
    }

    /// Returns a hint for a connection that was accepted and then closed without a response. A TLS server refuses plaintext
    /// not at the connect, but at the first bytes.
    pub(super) fn unanswered_hint(&self) -> &'static str {
        match &self.tls {
            Some(_) => "",
            None => " (if it speaks TLS there: set clouddriver.insecure: false, and clouddriver.tls.*)",
        }
    }
}

/// Connects to the first of the host's addresses that accepts; returns the error of the last one.
async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in lookup_host((host, port)).await? {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_send_buffer_size(SEND_BUFFER)?;
        match socket.connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use spindrift_process::config::Env;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    /// Size of the kernel's send buffer.
    fn send_buffer(stream: TcpStream) -> u32 {
        TcpSocket::from_std_stream(stream.into_std().unwrap()).send_buffer_size().unwrap()
    }

    #[tokio::test]
    async fn the_send_buffer_is_as_small_to_a_proxy_as_to_the_hub() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let env: Env = [("HTTPS_PROXY", format!("http://{address}"))].into_iter().collect();
        let dialer = Dialer::new("hub.example.com:9091", None).through(Proxies::of(&env));
        let proxy = async {
            let (mut accepted, _) = listener.accept().await.unwrap();
            let mut request = [0; 512];
            let read = accepted.read(&mut request).await.unwrap();
            assert!(request[..read].starts_with(b"CONNECT hub.example.com:9091 "));
            accepted.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            accepted
        };
        let (tunnel, _accepted) = tokio::join!(dialer.reach("hub.example.com", 9091), proxy);
        let direct = connect("127.0.0.1", address.port()).await.unwrap();
        let usual = TcpStream::connect(address).await.unwrap();
        let bounded = send_buffer(direct);
        assert_eq!(send_buffer(tunnel.unwrap()), bounded);
        assert_ne!(send_buffer(usual), bounded, "otherwise this proves nothing");
    }
}
