//! From a server to a connection: TCP, a proxy's tunnel, TLS, and the choice between HTTP/2 and HTTP/1.

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
    greeting::{Greeting, Overheard},
    server::Server,
};

/// A connection that was just made.
pub(super) struct Dialled {
    pub(super) sender: Sender,
    pub(super) most_streams: usize,
    /// To be polled for as long as requests are sent.
    pub(super) driver: Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>,
    pub(super) tasks: Tasks,
}

/// What came of an attempt at HTTP/2.
enum Attempt {
    Http2(Dialled),
    /// The server began with something else.
    Heard(Greeting),
    /// The server ended, or could not be heard.
    Ended(io::Error),
}

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

type BoxIo = Box<dyn Io>;

/// For all of it: an API server that takes longer is not there.
const LIMIT: Duration = Duration::from_secs(10);

/// A server of plaintext that is silent for so long is waiting for HTTP/1.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a watch may have sent before it is read. A cluster is near: with 1 ms between us that makes 60 MB/s.
const STREAM_WINDOW: u32 = 64 * 1024;

/// More streams than this are never put on one connection.
const MOST_STREAMS: u32 = 1000;

/// Servers that do not tell their limit are taken to have the one that HTTP/2 recommends as the least.
const USUAL_STREAMS: u32 = 100;

/// Room for all streams at once, so that those who do not read never stop the others. Nothing is reserved by it.
const CONNECTION_WINDOW: u32 = STREAM_WINDOW * MOST_STREAMS;

/// A dead link is found after two of these, while streams are open.
const PING: Duration = Duration::from_secs(15);

/// Requests are small; what is larger waits in our own hands.
const SEND_BUFFER: usize = 64 * 1024;

/// HTTP/1 has no windows: a body is read so far ahead.
const HTTP1_BUFFER: usize = 64 * 1024;

pub(super) async fn dial(server: &Server) -> Result<Dialled, TransportError> {
    let dialled = timeout(LIMIT, connect(server)).await;
    dialled
        .unwrap_or_else(|_| Err(TransportError::TimedOut { server: server.url().to_owned(), limit: LIMIT }))
}

async fn connect(server: &Server) -> Result<Dialled, TransportError> {
    let Some(tls) = &server.tls else { return plain(server).await };
    let tcp = tcp(server).await?;
    let stream = tls.connect(&server.host, tcp).await;
    let stream = stream.map_err(|source| TransportError::Tls { server: server.url().to_owned(), source })?;
    if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
        server.remember_http1();
        return http1(server, Box::new(stream)).await;
    }
    match http2(server, Box::new(stream)).await? {
        Attempt::Http2(dialled) => Ok(dialled),
        Attempt::Heard(_) => Err(TransportError::NotHttp2 { server: server.url().to_owned() }),
        // With TLS 1.3 a client learns only now that it is not trusted.
        Attempt::Ended(source) => Err(TransportError::Tls { server: server.url().to_owned(), source }),
    }
}

/// Without TLS nothing is negotiated: HTTP/2 is tried, and HTTP/1 if that is not understood.
async fn plain(server: &Server) -> Result<Dialled, TransportError> {
    if !server.is_http1() {
        let attempt = http2(server, Box::new(tcp(server).await?));
        match timeout(PATIENCE, attempt).await {
            Ok(Ok(Attempt::Http2(dialled))) => return Ok(dialled),
            Ok(Ok(Attempt::Heard(Greeting::Http1))) => server.remember_http1(),
            // Silence, an end or nonsense: HTTP/1 gets its chance, but HTTP/2 will be tried again.
            Ok(Ok(Attempt::Heard(_) | Attempt::Ended(_)) | Err(_)) | Err(_) => {}
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
    let (io, greeting_rx) = Overheard::new(io);
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
    let greeting = greeting_rx.await.unwrap_or_else(|_| Err(io::ErrorKind::ConnectionAborted.into()));
    let most_streams = match greeting {
        Ok(Greeting::Http2 { most_streams }) => most_streams.unwrap_or(USUAL_STREAMS),
        Ok(other) => return Ok(Attempt::Heard(other)),
        Err(error) => return Ok(Attempt::Ended(error)),
    };
    Ok(Attempt::Http2(Dialled {
        sender: Sender::Http2(sender),
        most_streams: with_headroom(most_streams),
        driver: Box::pin(connection),
        tasks,
    }))
}

/// The server counts a stream until it has seen its end, which is later than we do.
fn with_headroom(most_streams: u32) -> usize {
    let most = most_streams.min(MOST_STREAMS);
    (most - most / 16).max(1) as usize
}

async fn http1(server: &Server, io: BoxIo) -> Result<Dialled, TransportError> {
    let handshake = http1::Builder::new().max_buf_size(HTTP1_BUFFER).handshake(TokioIo::new(io)).await;
    let (sender, connection) = handshake.map_err(|error| server.broken(error))?;
    Ok(Dialled {
        sender: Sender::Http1(Mutex::new(sender)),
        most_streams: 1,
        driver: Box::pin(connection),
        tasks: Tasks::default(),
    })
}
