//! Errors of requests that got no response.

use std::{io, time::Duration};

use spindrift_process::proxy::ProxyError;

use crate::client::credentials::ConnectError;

/// A request that got no response.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The credentials cannot be used anymore.
    #[error("authenticate")]
    Login(#[source] Box<ConnectError>),
    /// The request is not valid HTTP.
    #[error("build the request")]
    Request(#[source] http::Error),
    /// The proxy did not connect.
    #[error("connect to {server}")]
    Proxy {
        /// The API server.
        server: String,
        /// The cause.
        source: ProxyError,
    },
    /// The server cannot be reached.
    #[error("connect to {server}")]
    Unreachable {
        /// The API server.
        server: String,
        /// The cause.
        source: io::Error,
    },
    /// The TLS handshake failed: one side does not trust the other.
    #[error("TLS handshake with {server}")]
    Tls {
        /// The API server.
        server: String,
        /// The cause.
        source: io::Error,
    },
    /// Connecting took too long.
    #[error("connecting to {server} took longer than {limit:?}")]
    TimedOut {
        /// The API server.
        server: String,
        /// The timeout.
        limit: Duration,
    },
    /// The server negotiated HTTP/2 and sent something else.
    #[error("{server} negotiated HTTP/2 and sent something else")]
    NotHttp2 {
        /// The API server.
        server: String,
    },
    /// The connection ended before the response began.
    #[error("the connection to {server} broke")]
    Broken {
        /// The API server.
        server: String,
        /// The cause.
        source: hyper::Error,
    },
}
