//! A connection that is ready to be served.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::addresses::AddressSlot;
use super::rewind::Rewind;

/// Peer of a connection; an extension of every request.
#[derive(Debug, Clone)]
pub struct PeerInfo {
    /// The address of the peer, or of the proxy in between.
    pub remote: SocketAddr,
    /// The certificates the peer has shown, its own first; they are verified.
    pub certificates: Option<Arc<Vec<CertificateDer<'static>>>>,
}

/// A connection of the expected protocol, after the TLS handshake.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    peer: PeerInfo,
    /// Counts the connection, until it is closed.
    _slot: AddressSlot,
}

/// TLS over a stream whose ClientHello was looked at.
pub(super) type Secure = TlsStream<Rewind<TcpStream>>;

#[derive(Debug)]
enum Stream {
    Plain(Rewind<TcpStream>),
    Secure(Box<Rewind<Secure>>),
}

// === impl Connection ===

impl Connection {
    pub(super) fn plain(stream: Rewind<TcpStream>, remote: SocketAddr, slot: AddressSlot) -> Self {
        Self { stream: Stream::Plain(stream), peer: PeerInfo { remote, certificates: None }, _slot: slot }
    }

    pub(super) fn secure(stream: Rewind<Secure>, remote: SocketAddr, slot: AddressSlot) -> Self {
        let (_, session) = stream.get_ref().get_ref();
        let certificates = session.peer_certificates().map(|shown| Arc::new(shown.to_vec()));
        let peer = PeerInfo { remote, certificates };
        Self { stream: Stream::Secure(Box::new(stream)), peer, _slot: slot }
    }

    /// Returns the peer.
    pub fn peer(&self) -> &PeerInfo {
        &self.peer
    }
}

impl Connected for Connection {
    type ConnectInfo = PeerInfo;

    fn connect_info(&self) -> PeerInfo {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Secure(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Secure(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Secure(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Stream::Secure(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Secure(stream) => stream.is_write_vectored(),
        }
    }
}
