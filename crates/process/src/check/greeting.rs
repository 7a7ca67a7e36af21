//! Protocol of a server, detected by its responses to the first bytes of HTTP/2, HTTP/1 and TLS.

use std::io;
use std::net::SocketAddr;

use http_body_util::{BodyExt, Collected, Limited};
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::DEADLINE;
use super::tls::TlsProbe;

/// The preface of HTTP/2, and an empty SETTINGS frame, which has to be acknowledged.
const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

const FRAME_HEAD: usize = 9;
const SETTINGS: u8 = 0x4;
const GOAWAY: u8 = 0x7;
const ACK: u8 = 0x1;

/// More than the first frames of any server.
const LARGEST_FRAME: u64 = 64 * 1024;

/// More than the health or the description of any of our daemons.
const LARGEST_BODY: usize = 1024 * 1024;

/// Response of the other side to the first bytes of HTTP/2.
#[derive(Debug)]
pub enum Greeting {
    /// It supports HTTP/2.
    Http2,
    /// It supports HTTP/2 and refuses with a reason.
    Goodbye(String),
    /// It answers in HTTP/1.
    Http1,
    /// It answers in TLS.
    Tls,
    /// It answers in a language of its own.
    Other,
    /// It does not answer: closed, silent, or ended with an alert.
    Nothing(io::Error),
}

/// An answer of HTTP/1.
#[derive(Debug, Clone)]
pub struct Http1Answer {
    /// The status.
    pub status: u16,
    /// `Server` header.
    pub server: Option<String>,
    /// The body, as far as it is text.
    pub body: String,
}

/// Sends the HTTP/2 preface and waits until it is acknowledged.
pub async fn greet<IO: AsyncRead + AsyncWrite + Unpin>(stream: &mut IO) -> Greeting {
    match timeout(DEADLINE, exchange(stream)).await {
        Ok(Ok(greeting)) => greeting,
        Ok(Err(error)) => Greeting::Nothing(error),
        Err(_) => Greeting::Nothing(io::ErrorKind::TimedOut.into()),
    }
}

/// Dials, and sends the preface in plaintext.
pub async fn greet_plain(address: SocketAddr) -> Greeting {
    match timeout(DEADLINE, TcpStream::connect(address)).await {
        Ok(Ok(mut stream)) => greet(&mut stream).await,
        Ok(Err(error)) => Greeting::Nothing(error),
        Err(_) => Greeting::Nothing(io::ErrorKind::TimedOut.into()),
    }
}

async fn exchange<IO: AsyncRead + AsyncWrite + Unpin>(stream: &mut IO) -> io::Result<Greeting> {
    stream.write_all(HELLO).await?;
    stream.flush().await?;
    let mut is_first = true;
    loop {
        let mut head = [0; FRAME_HEAD];
        stream.read_exact(&mut head[..2]).await?;
        if is_first && head[..2] == [0x15, 0x03] {
            return Ok(Greeting::Tls);
        }
        stream.read_exact(&mut head[2..]).await?;
        if is_first && head.starts_with(b"HTTP/1.") {
            return Ok(Greeting::Http1);
        }
        let [a, b, c, kind, flags, ..] = head;
        let length = u64::from(u32::from_be_bytes([0, a, b, c]));
        if (is_first && kind != SETTINGS) || length > LARGEST_FRAME {
            return Ok(Greeting::Other);
        }
        is_first = false;
        let mut body = Vec::new();
        (&mut *stream).take(length).read_to_end(&mut body).await?;
        match kind {
            SETTINGS if flags & ACK != 0 => return Ok(Greeting::Http2),
            // The last stream and the code come before the words.
            GOAWAY => {
                let words = body.get(8..).unwrap_or_default();
                return Ok(Greeting::Goodbye(String::from_utf8_lossy(words).into_owned()));
            }
            _ => {}
        }
    }
}

/// Whether the address completes a TLS handshake with a client that trusts everyone.
pub async fn speaks_tls(host: &str, address: SocketAddr) -> bool {
    match TlsProbe::to_anyone(vec![b"h2".to_vec(), b"http/1.1".to_vec()]) {
        Ok(probe) => probe.connect(host, address).await.is_ok(),
        Err(_) => false,
    }
}

/// Asks by HTTP/1 over a connection that is open.
pub async fn get_http1<IO>(stream: IO, host: &str, path: &str) -> Option<Http1Answer>
where
    IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    timeout(DEADLINE, async {
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.ok()?;
        let mut driver = JoinSet::new();
        driver.spawn(connection);
        let request = Request::get(path).header(header::HOST, host).body(String::new()).ok()?;
        let answer = sender.send_request(request).await.ok()?;
        let server = answer.headers().get(header::SERVER).and_then(|value| value.to_str().ok());
        let (server, status) = (server.map(str::to_owned), answer.status().as_u16());
        let body = Limited::new(answer.into_body(), LARGEST_BODY).collect().await;
        let body = body.map(Collected::to_bytes).unwrap_or_default();
        Some(Http1Answer { status, server, body: String::from_utf8_lossy(&body).into_owned() })
    })
    .await
    .ok()
    .flatten()
}

/// Asks by HTTP/1 in plaintext.
pub async fn get_plain(address: SocketAddr, path: &str) -> Option<Http1Answer> {
    let stream = timeout(DEADLINE, TcpStream::connect(address)).await.ok()?.ok()?;
    get_http1(stream, &address.to_string(), path).await
}

// === impl Http1Answer ===

impl Http1Answer {
    /// Reads the body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(&self.body).ok()
    }

    /// Returns the server and the status of the response.
    pub fn describe(&self) -> String {
        match &self.server {
            Some(server) => format!("{server} answers with {}", self.status),
            None => format!("it answers with {}", self.status),
        }
    }
}
