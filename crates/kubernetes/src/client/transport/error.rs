//! Why no answer came.

use std::{io, time::Duration};

use spindrift_process::proxy::ProxyError;

use crate::client::credentials::ConnectError;

/// A request that got no answer at all.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The credentials cannot be used any more.
    #[error("log in")]
    Login(#[source] Box<ConnectError>),
    /// The request cannot be written down.
    #[error("write the request down")]
    Request(#[source] http::Error),
    /// There is no way through the proxy.
    #[error("connect to {server}")]
    Proxy {
        /// The API server.
        server: String,
        /// What happened.
        source: ProxyError,
    },
    /// Nobody takes the connection.
    #[error("connect to {server}")]
    Unreachable {
        /// The API server.
        server: String,
        /// What happened.
        source: io::Error,
    },
    /// The connection cannot be secured: the other side is not trusted, or does not trust us.
    #[error("agree on TLS with {server}")]
    Tls {
        /// The API server.
        server: String,
        /// What happened.
        source: io::Error,
    },
    /// It took too long until the other side was ready to listen.
    #[error("{server} was not ready to listen within {limit:?}")]
    TimedOut {
        /// The API server.
        server: String,
        /// What was allowed.
        limit: Duration,
    },
    /// What answers does not speak HTTP as it said that it would.
    #[error("{server} does not speak HTTP/2 as it promised")]
    NotHttp2 {
        /// The API server.
        server: String,
    },
    /// The connection ended before the answer began.
    #[error("the connection to {server} broke")]
    Broken {
        /// The API server.
        server: String,
        /// What happened.
        source: hyper::Error,
    },
}
