//! From sockets to connections, many at a time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::addresses::{AddressSlot, Addresses};
use super::connection::Connection;
use super::handshakes::Handshakes;
use super::heard::Heard;
use super::refuse::{Mistake, handshake_sentence};
use super::rewind::Rewind;
use super::sniff::{Speech, sniff};
use super::{Endpoint, Expects};
use crate::tls::ServerTls;

/// From the first byte to the end of the handshake; a peer on a bad line needs about a second.
const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(10);

/// Connections of one address, which may be a load balancer in front of a whole fleet.
const CONNECTIONS_PER_ADDRESS: usize = 4096;

/// Pause after a failed accept, which usually means that the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Accepts sockets and prepares them in tasks of its own.
pub(super) struct Acceptor {
    listener: TcpListener,
    endpoint: Arc<Endpoint>,
    heard: Arc<Heard>,
    addresses: Addresses,
    handshakes: Handshakes<Connection>,
    token: CancellationToken,
}

/// Why there is no connection.
enum Refused {
    Mistake(Mistake),
    Handshake(io::Error),
    Garbage,
    Lost(io::Error),
}

// === impl Acceptor ===

impl Acceptor {
    pub(super) fn new(listener: TcpListener, endpoint: Arc<Endpoint>, token: CancellationToken) -> Self {
        let addresses = Addresses::new(CONNECTIONS_PER_ADDRESS);
        Self { listener, endpoint, heard: Arc::default(), addresses, handshakes: Handshakes::new(), token }
    }

    /// Gives the next connection that is ready, or nothing once the process stops.
    pub(super) async fn next(&mut self) -> Option<Connection> {
        loop {
            tokio::select! {
                biased;
                () = self.token.cancelled() => return None,
                Some(ended) = self.handshakes.next() => match ended {
                    Ok(Some(connection)) => return Some(connection),
                    Ok(None) => {}
                    Err(error) if error.is_cancelled() => debug!("silent peer gave way to another one"),
                    Err(error) => warn!(%error, "handshake ended abruptly"),
                },
                accepted = self.listener.accept(), if self.handshakes.has_room() => match accepted {
                    Ok((stream, remote)) => self.prepare(stream, remote),
                    Err(error) => self.pause(&error).await,
                },
            }
        }
    }

    fn prepare(&mut self, stream: TcpStream, remote: SocketAddr) {
        // A listener for both families shows peers of IPv4 as ::ffff:10.0.0.1.
        let remote = SocketAddr::new(remote.ip().to_canonical(), remote.port());
        let Some(slot) = self.addresses.admit(remote.ip()) else {
            self.refuse_address(remote, &format!("{CONNECTIONS_PER_ADDRESS} connections"));
            return;
        };
        let endpoint = Arc::clone(&self.endpoint);
        let heard = Arc::clone(&self.heard);
        let begun = self.handshakes.begin(remote.ip(), async move {
            match timeout(HANDSHAKE_DEADLINE, establish(stream, remote, slot, &endpoint)).await {
                Ok(Ok(connection)) => Some(connection),
                Ok(Err(refused)) => {
                    refused.log(remote, &endpoint, &heard);
                    None
                }
                Err(_elapsed) => {
                    debug!(port = endpoint.name, peer = %remote, "peer took too long to say hello");
                    None
                }
            }
        });
        if !begun {
            self.refuse_address(remote, "too many handshakes at once");
        }
    }

    /// Logs that a connection was closed because its address has too many.
    fn refuse_address(&self, remote: SocketAddr, has: &str) {
        let name = self.endpoint.name;
        let sentence = format!("connection to the {name} port closed: its address has {has}");
        if self.heard.is_news(remote.ip(), &sentence) {
            warn!(peer = %remote, "{sentence}");
        } else {
            debug!(peer = %remote, "{sentence}");
        }
    }

    async fn pause(&self, error: &io::Error) {
        if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) {
            return;
        }
        warn!(port = self.endpoint.name, %error, "cannot accept connections, trying again");
        tokio::select! {
            () = self.token.cancelled() => {}
            () = tokio::time::sleep(ACCEPT_PAUSE) => {}
        }
    }
}

// === impl Refused ===

impl Refused {
    fn log(self, remote: SocketAddr, endpoint: &Endpoint, heard: &Heard) {
        let sentence = match &self {
            Self::Mistake(mistake) => Some(mistake.sentence(endpoint)),
            Self::Handshake(error) => handshake_sentence(error, endpoint),
            Self::Garbage | Self::Lost(_) => None,
        };
        match (sentence, self) {
            (Some(sentence), _) if heard.is_news(remote.ip(), &sentence) => {
                warn!(peer = %remote, "{sentence}");
            }
            (Some(sentence), _) => debug!(peer = %remote, "{sentence}"),
            (None, Self::Handshake(error) | Self::Lost(error)) => {
                debug!(port = endpoint.name, peer = %remote, %error, "peer was lost");
            }
            (None, _) => debug!(port = endpoint.name, peer = %remote, "peer speaks neither HTTP nor TLS"),
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

async fn establish(
    stream: TcpStream,
    remote: SocketAddr,
    slot: AddressSlot,
    endpoint: &Endpoint,
) -> Result<Connection, Refused> {
    // Small frames in both directions: Nagle would delay each by the peer's delayed ACK.
    stream.set_nodelay(true)?;
    let (speech, stream) = sniff(stream).await?;
    let mistake = match (&endpoint.tls, speech) {
        (Some(tls), Speech::Tls) => return secure(stream, remote, slot, (endpoint, tls)).await,
        (None, Speech::Http1) if endpoint.expects == Expects::Http2Only => Mistake::Http1,
        (None, Speech::Http1 | Speech::Http2) => return Ok(Connection::plain(stream, remote, slot)),
        (None, Speech::Tls) => Mistake::Tls,
        (Some(_), Speech::Http1) => Mistake::PlainHttp1,
        (Some(_), Speech::Http2) => Mistake::PlainHttp2,
        (_, Speech::Other) => return Err(Refused::Garbage),
        (_, Speech::Silence) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
    };
    Err(refuse(stream, mistake, endpoint).await)
}

async fn secure(
    stream: Rewind<TcpStream>,
    remote: SocketAddr,
    slot: AddressSlot,
    (endpoint, tls): (&Endpoint, &ServerTls),
) -> Result<Connection, Refused> {
    let stream = TlsAcceptor::from(tls.config()).accept(stream).await.map_err(Refused::Handshake)?;
    if endpoint.expects == Expects::AnyHttp {
        return Ok(Connection::secure(Rewind::new(Bytes::new(), stream), remote, slot));
    }
    let (speech, stream) = sniff(stream).await?;
    match speech {
        Speech::Http2 => Ok(Connection::secure(stream, remote, slot)),
        Speech::Http1 => Err(refuse(stream, Mistake::Http1, endpoint).await),
        Speech::Tls | Speech::Other => Err(Refused::Garbage),
        Speech::Silence => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
    }
}

async fn refuse<IO>(stream: IO, mistake: Mistake, endpoint: &Endpoint) -> Refused
where
    IO: AsyncRead + AsyncWrite + Unpin,
{
    if let Err(error) = mistake.answer(stream, &mistake.sentence(endpoint)).await {
        debug!(port = endpoint.name, %error, "peer did not wait for the answer");
    }
    Refused::Mistake(mistake)
}
