//! One gRPC call without a library: a check needs the status, date and server that a library hides.

use std::io;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper_util::rt::{TokioExecutor, TokioIo};
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::DEADLINE;

/// gRPC's own code for a method that the server does not have.
pub const UNIMPLEMENTED: u32 = 12;

/// An HTTP/2 connection on which methods are called.
#[derive(Debug)]
pub struct GrpcConnection {
    sender: SendRequest<Full<Bytes>>,
    scheme: &'static str,
    authority: String,
    /// Shown with each call.
    authorization: Option<HeaderValue>,
    /// Drives the connection until it is dropped.
    _driver: JoinSet<()>,
}

/// Response of a gRPC call.
#[derive(Debug, Clone)]
pub struct GrpcAnswer {
    /// HTTP status, which is 200 for every gRPC response.
    pub http: u16,
    /// Set if the response is gRPC, and not that of any other HTTP/2 server.
    pub is_grpc: bool,
    /// `Server` header.
    pub server: Option<String>,
    /// The server's clock.
    pub date: Option<String>,
    /// gRPC's own status.
    pub code: Option<u32>,
    /// Message of the status.
    pub message: String,
    /// The first message, encoded.
    pub reply: Bytes,
}

// === impl GrpcConnection ===

impl GrpcConnection {
    /// Begins HTTP/2 on a connection.
    pub async fn open<IO>(stream: IO, authority: &str) -> io::Result<Self>
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let handshake = timeout(DEADLINE, handshake).await.map_err(|_| io::ErrorKind::TimedOut)?;
        let (sender, connection) = handshake.map_err(io::Error::other)?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // The pending call returns the error.
            connection.await.ok();
        });
        let authority = authority.to_owned();
        Ok(Self { sender, scheme: "http", authority, authorization: None, _driver: driver })
    }

    /// Names the scheme of a connection over TLS, which proxies may check.
    #[must_use]
    pub fn over_tls(mut self) -> Self {
        self.scheme = "https";
        self
    }

    /// Shows a token with each call.
    #[must_use]
    pub fn with_authorization(mut self, authorization: Option<HeaderValue>) -> Self {
        self.authorization = authorization;
        self
    }

    /// Calls a method, such as `/grpc.health.v1.Health/Check`, with an encoded message.
    pub async fn call(&mut self, method: &str, message: &[u8]) -> io::Result<GrpcAnswer> {
        timeout(DEADLINE, self.ask(method, message)).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }

    async fn ask(&mut self, method: &str, message: &[u8]) -> io::Result<GrpcAnswer> {
        let length = u32::try_from(message.len()).map_err(io::Error::other)?;
        // Not compressed, its length, itself.
        let framed = [&[0], &length.to_be_bytes()[..], message].concat();
        let mut request = Request::post(format!("{}://{}{method}", self.scheme, self.authority))
            .header(header::CONTENT_TYPE, "application/grpc")
            .header(header::TE, "trailers")
            .body(Full::from(framed))
            .map_err(io::Error::other)?;
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        let answer = self.sender.send_request(request).await.map_err(io::Error::other)?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?;
        let text = |headers: &HeaderMap, name: &str| {
            headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        // An answer without a message has its status in the head.
        let status = body.trailers().filter(|trailers| trailers.contains_key("grpc-status"));
        let status = status.unwrap_or(&head.headers);
        let content_type = text(&head.headers, "content-type").unwrap_or_default();
        Ok(GrpcAnswer {
            http: head.status.as_u16(),
            is_grpc: content_type.starts_with("application/grpc"),
            server: text(&head.headers, "server"),
            date: text(&head.headers, "date"),
            code: text(status, "grpc-status").and_then(|code| code.parse().ok()),
            message: percent_decoded(&text(status, "grpc-message").unwrap_or_default()),
            reply: without_frame(body.to_bytes()),
        })
    }
}

/// The message behind the five bytes that frame it.
fn without_frame(mut body: Bytes) -> Bytes {
    body.split_off(body.len().min(5))
}

/// Decodes a gRPC message, which is percent-encoded where it is not plain ASCII.
fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::percent_decoded;

    #[test]
    fn messages_are_decoded_and_broken_codes_are_left_alone() {
        for (encoded, text) in
            [("a b", "a b"), ("100%25", "100%"), ("%E2%86%92", "→"), ("%", "%"), ("%zz", "%zz")]
        {
            assert_eq!(percent_decoded(encoded), text);
        }
    }
}
