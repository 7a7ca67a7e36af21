//! Why there is no way through a proxy.

use std::io;

/// A proxy that cannot be used; nothing here holds its password.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The address makes no sense, or is that of something else.
    #[error("{setting}: expected a proxy as http://host:port, but {problem}")]
    Address {
        /// Where the address stands.
        setting: String,
        /// Problem.
        problem: &'static str,
    },
    /// The proxy is unavailable.
    #[error("reach the proxy {proxy}")]
    Unreachable {
        /// The proxy.
        proxy: String,
        /// Cause.
        source: io::Error,
    },
    /// It requires authentication, or rejects the credentials.
    #[error("the proxy {proxy} wants other credentials (407); write them as http://user:password@host:port")]
    Credentials {
        /// The proxy.
        proxy: String,
    },
    /// It does not let this pass.
    #[error("the proxy {proxy} refuses to connect to {target}: {answer}")]
    Refused {
        /// The proxy.
        proxy: String,
        /// Where to.
        target: String,
        /// Its words, such as `403 Forbidden`.
        answer: String,
    },
    /// It uses another protocol.
    #[error("the proxy {proxy} does not answer like a proxy of HTTP")]
    Nonsense {
        /// The proxy.
        proxy: String,
    },
    /// It went away in the middle.
    #[error("the proxy {proxy} broke off while it connected to {target}")]
    Broken {
        /// The proxy.
        proxy: String,
        /// Where to.
        target: String,
        /// Cause.
        source: io::Error,
    },
}
