//! From a request to the beginning of its answer: who asks, over which connection, and what if that breaks.
//!
//! ```text
//! request ─▶ login ─────────▶ pool of the lane ─▶ connection ─▶ answer ─▶ Body
//!            token, headers,   a stream on one     HTTP/2, or    │         holds its stream
//!            server; re-read   that has room,      HTTP/1 with   │
//!            when files change or dial             one request   └─ 401: log in anew, ask once more
//! ```
//!
//! All watches of an API server share one connection, until its limit of streams is reached. Whoever does not read keeps
//! only its own stream waiting: the window of the connection is as large as those of all streams together. Questions and
//! operations have a connection of their own, so that no flood of events is before them.

mod body;
mod connection;
mod dial;
mod error;
mod failure;
mod greeting;
pub(crate) mod login;
mod pool;
mod server;
mod stats;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;

pub(crate) use body::Body;
pub use error::TransportError;
use failure::Failure;
pub(crate) use login::Login;
use login::Standing;
use pool::{IDLE, Pool};
pub(crate) use server::Server;
use stats::Counters;
pub use stats::TransportStats;

use crate::client::credentials::ConnectError;

/// The connections to one API server, and the login that they are used with.
pub(crate) struct Transport {
    login: Login,
    watches: Arc<Pool>,
    operations: Arc<Pool>,
    counters: Arc<Counters>,
}

/// Who shares a connection with whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Watches and lists: long, large, and as slow as their reader.
    Watches,
    /// Questions and operations, which somebody waits for.
    Operations,
}

/// An API server that is shut down may end a few connections in a row while its siblings take over.
const ATTEMPTS: u32 = 3;

// === impl Transport ===

impl Transport {
    pub(crate) fn new(login: Login) -> Self {
        let counters = Arc::new(Counters::default());
        let pool = || Arc::new(Pool::new(IDLE, Arc::clone(&counters)));
        Self { login, watches: pool(), operations: pool(), counters: Arc::clone(&counters) }
    }

    /// The API server as the credentials name it now.
    pub(crate) fn server(&self) -> Arc<Server> {
        Arc::clone(&self.login.last_known().server)
    }

    pub(crate) fn stats(&self) -> TransportStats {
        self.counters.snapshot()
    }

    /// Sends a request, whose URI is a path, and gives the answer as soon as it begins.
    pub(crate) async fn send(
        &self,
        lane: Lane,
        request: &Request<Bytes>,
    ) -> Result<Response<Body>, TransportError> {
        let login = |source: ConnectError| TransportError::Login(Box::new(source));
        let standing = self.login.standing().await.map_err(login)?;
        let answer = self.send_as(&standing, lane, request).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        match self.login.after_refusal(&standing).await.map_err(login)? {
            Some(standing) => self.send_as(&standing, lane, request).await,
            None => Ok(answer),
        }
    }

    async fn send_as(
        &self,
        standing: &Standing,
        lane: Lane,
        request: &Request<Bytes>,
    ) -> Result<Response<Body>, TransportError> {
        let pool = match lane {
            Lane::Watches => &self.watches,
            Lane::Operations => &self.operations,
        };
        let is_repeatable = request.method().is_safe();
        let (mut attempt, mut broke_by) = (1, None);
        loop {
            let slot = pool.slot(&standing.server).await?;
            let request = standing.address(request, slot.speaks_http2())?.map(Full::new);
            self.counters.requested();
            let error = match slot.send(request).await {
                Ok(answer) => return Ok(answer.map(|incoming| Body::new(incoming, slot))),
                Err(error) => error,
            };
            broke_by = slot.broke_by().or(broke_by);
            let failure = Failure::of(&error);
            let may_repeat = match failure {
                Failure::Untouched => true,
                // A connection that was there before may have ended just now, which says nothing about the server.
                Failure::Broken => is_repeatable && slot.was_used_before(),
                Failure::Reset => false,
            };
            if !may_repeat || attempt == ATTEMPTS {
                // That it was not sent says nothing of the reason, such as a certificate that is wanted.
                let reason = broke_by.filter(|_| failure == Failure::Untouched);
                return Err(standing.server.broken(reason.unwrap_or(error)));
            }
            attempt += 1;
        }
    }
}
