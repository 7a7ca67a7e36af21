//! The accept loop of all servers: gRPC, REST, metrics.
//!
//! ```text
//! bind ─▶ accept ─▶ sniff ─▶ TLS ─▶ sniff ─▶ Connection ─▶ tonic, or axum by `serve_http`
//!                     │               │
//!                     └── refuse ◀────┘   one sentence to the peer and to the log
//! ```
//!
//! A peer that uses the wrong protocol is the most common mistake of an installation and the hardest to see from
//! the errors that libraries give. So the first bytes are inspected, and the response names the setting to change.

use std::io;
use std::sync::Arc;

use futures::Stream;
use tokio::net::TcpListener;

use crate::shutdown::Shutdown;
use crate::tls::ServerTls;

mod accept;
mod addresses;
mod bind;
mod budget;
mod connection;
mod handshakes;
mod heard;
mod http;
mod refuse;
mod request_body;
mod rewind;
mod site;
mod sniff;
mod write_deadline;

#[cfg(test)]
mod tests;

pub use self::bind::{BindError, bind};
pub use self::budget::{BudgetExceeded, ByteBudget, ByteHold};
pub use self::connection::{Connection, PeerInfo};
pub use self::http::serve_http;
pub use self::request_body::BodyRefused;
pub use self::site::{CrossSiteRequest, SitePolicy};

/// Purpose and settings of a port, as logs and responses name them.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its name: `gRPC`, `REST`.
    pub name: &'static str,
    /// The setting of the port, such as `kubesvc.grpc.server.port`.
    pub setting: &'static str,
    /// Expected protocol.
    pub expects: Expects,
    /// TLS; plaintext if absent.
    pub tls: Option<ServerTls>,
    /// The setting that turns TLS on and off, such as `kubesvc.grpc.server.security.enabled`, if there is one.
    pub tls_setting: Option<&'static str>,
}

/// Protocol that a port expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expects {
    /// HTTP/2 only, as gRPC needs it; the peers are agents.
    Http2Only,
    /// HTTP/1 or HTTP/2.
    AnyHttp,
}

/// Accepts connections until shutdown: TLS is done and the peer uses the expected protocol.
///
/// Handshakes run concurrently, so a slow peer delays no other. The stream ends with the shutdown; it never
/// gives an error, but servers want that form.
pub fn incoming(
    listener: TcpListener,
    endpoint: Endpoint,
    shutdown: &Shutdown,
) -> impl Stream<Item = io::Result<Connection>> + Send + 'static {
    let acceptor = accept::Acceptor::new(listener, Arc::new(endpoint), shutdown.token());
    futures::stream::unfold(acceptor, async |mut acceptor| {
        let connection = acceptor.next().await?;
        Some((Ok(connection), acceptor))
    })
}
