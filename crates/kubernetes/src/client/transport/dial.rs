//! New connections: TCP, the tunnel of a proxy, TLS, and the choice between HTTP/2 and HTTP/1.

use std::{io, pin::Pin, time::Duration};

use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};

use super::{
    connection::{Sender, Tasks},
    error::TransportError,
    preface::{Preface, PrefaceReader},
    server::Server,
};

/// Connection that was just made.
pub(super) struct NewConnection {
    pub(super) sender: Sender,
    pub(super) max_streams: usize,
    /// Polled as long as the connection is used.
    pub(super) driver: Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>,
    pub(super) tasks: Tasks,
}

/// Result of an attempt at HTTP/2.
enum Attempt {
    Http2(NewConnection),
    /// The server began with something else.
    Preface(Preface),
    /// The connection ended or failed.
    Ended(io::Error),
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

type BoxIo = Box<dyn Io>;

/// Timeout of all steps together: an API server that takes longer counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time after which a plaintext server that has sent nothing is taken to wait for HTTP/1.
const PREFACE_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a watch that may be in flight. API servers are near: a round trip of 1 ms allows 60 MB/s.
const STREAM_WINDOW: u32 = 64 * 1024;

/// Largest number of streams on one connection.
const MAX_STREAMS: u32 = 1000;

/// Limit of servers that set none: the smallest that HTTP/2 recommends.
const DEFAULT_MAX_STREAMS: u32 = 100;

/// As large as the windows of all streams, so that slow readers never block the others. It reserves no memory.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MAX_STREAMS;

/// A dead connection is detected after two of these, while streams are open.
const PING: Duration = Duration::from_secs(15);

/// Requests are small; larger ones wait before the buffer.
const SEND_BUFFER: usize = 64 * 1024;

/// HTTP/1 has no windows: this much of a body is read ahead.
const HTTP1_BUFFER: usize = 64 * 1024;

pub(super) async fn dial(server: &Server) -> Result<NewConnection, TransportError> {
    let connected = timeout(CONNECT_TIMEOUT, connect(server)).await;
    connected.unwrap_or_else(|_| {
        Err(TransportError::TimedOut { server: server.url().to_owned(), limit: CONNECT_TIMEOUT })
    })
}

async fn connect(server: &Server) -> Result<NewConnection, TransportError> {
    let Some(tls) = &server.tls else { return plain(server).await };
    let tcp = tcp(server).await?;
    let stream = tls.connect(&server.host, tcp).await;
    let stream = stream.map_err(|source| TransportError::Tls { server: server.url().to_owned(), source })?;
    if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
        server.remember_http1();
        return http1(server, Box::new(stream)).await;
    }
    match http2(server, Box::new(stream)).await? {
        Attempt::Http2(connection) => Ok(connection),
        Attempt::Preface(_) => Err(TransportError::NotHttp2 { server: server.url().to_owned() }),
        // With TLS 1.3 a rejected client certificate shows only now.
        Attempt::Ended(source) => Err(TransportError::Tls { server: server.url().to_owned(), source }),
    }
}

/// Connects without TLS, and so without negotiation: tries HTTP/2, then HTTP/1.
async fn plain(server: &Server) -> Result<NewConnection, TransportError> {
    if !server.is_http1() {
        let attempt = http2(server, Box::new(tcp(server).await?));
        match timeout(PREFACE_TIMEOUT, attempt).await {
            Ok(Ok(Attempt::Http2(connection))) => return Ok(connection),
            Ok(Ok(Attempt::Preface(Preface::Http1))) => server.remember_http1(),
            // No bytes, an end or unknown bytes: HTTP/1 is tried now, but HTTP/2 again next time.
            Ok(Ok(Attempt::Preface(_) | Attempt::Ended(_)) | Err(_)) | Err(_) => {}
        }
    }
    http1(server, Box::new(tcp(server).await?)).await
}

async fn tcp(server: &Server) -> Result<TcpStream, TransportError> {
    let Server { host, port, .. } = server;
    if let Some(proxy) = &server.proxy {
        let tunnel = proxy.tunnel(host, *port).await;
        return tunnel.map_err(|source| TransportError::Proxy { server: server.url().to_owned(), source });
    }
    let unreachable = |source| TransportError::Unreachable { server: server.url().to_owned(), source };
    let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(unreachable)?;
    stream.set_nodelay(true).map_err(unreachable)?;
    Ok(stream)
}

async fn http2(server: &Server, io: BoxIo) -> Result<Attempt, TransportError> {
    let (io, preface_rx) = PrefaceReader::new(io);
    let tasks = Tasks::default();
    let handshake = http2::Builder::new(tasks.executor())
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .handshake(TokioIo::new(io))
        .await;
    let (sender, connection) = handshake.map_err(|error| server.broken(error))?;
    let preface = preface_rx.await.unwrap_or_else(|_| Err(io::ErrorKind::ConnectionAborted.into()));
    let max_streams = match preface {
        Ok(Preface::Http2 { max_streams }) => max_streams.unwrap_or(DEFAULT_MAX_STREAMS),
        Ok(other) => return Ok(Attempt::Preface(other)),
        Err(error) => return Ok(Attempt::Ended(error)),
    };
    Ok(Attempt::Http2(NewConnection {
        sender: Sender::Http2(sender),
        max_streams: with_headroom(max_streams),
        driver: Box::pin(connection),
        tasks,
    }))
}

/// The server counts a stream until it has received its end, which is later than here.
fn with_headroom(max_streams: u32) -> usize {
    let most = max_streams.min(MAX_STREAMS);
    (most - most / 16).max(1) as usize
}

async fn http1(server: &Server, io: BoxIo) -> Result<NewConnection, TransportError> {
    let handshake = http1::Builder::new().max_buf_size(HTTP1_BUFFER).handshake(TokioIo::new(io)).await;
    let (sender, connection) = handshake.map_err(|error| server.broken(error))?;
    Ok(NewConnection {
        sender: Sender::Http1(Mutex::new(sender)),
        max_streams: 1,
        driver: Box::pin(connection),
        tasks: Tasks::default(),
    })
}
