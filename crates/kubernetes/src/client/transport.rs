//! Transport of requests: authentication, connections, and retries when a connection breaks.
//!
//! ```text
//! request ─▶ login ─────────▶ pool of the class ─▶ connection ─▶ response ─▶ Body
//!            token, headers,   a stream on one      HTTP/2, or    │           holds its stream
//!            server; re-read   with a free slot,    HTTP/1 with   │
//!            when files change or dial              one request   └─ 401: renew credentials, retry once
//! ```
//!
//! All watches of an API server share one connection, up to its limit of streams. A slow reader blocks only its own
//! stream: the window of the connection is as large as those of all streams together. Operations and small requests have
//! a connection of their own, so that a burst of events does not delay them.

mod body;
mod connection;
mod dial;
mod error;
mod failure;
pub(crate) mod login;
mod pool;
mod preface;
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
use login::LoginState;
use pool::{IDLE, Pool};
pub(crate) use server::Server;
use stats::Counters;
pub use stats::TransportStats;

use crate::client::credentials::ConnectError;

/// Connections to one API server, and the credentials for its requests.
pub(crate) struct Transport {
    login: Login,
    watches: Arc<Pool>,
    operations: Arc<Pool>,
    counters: Arc<Counters>,
}

/// Class of requests that share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestClass {
    /// Watches and lists: long, large, and as slow as their reader.
    Watches,
    /// Operations and small requests, for which a caller waits.
    Operations,
}

/// Attempts at one request: an API server that shuts down may close a few connections in a row while others take over.
const ATTEMPTS: u32 = 3;

// === impl Transport ===

impl Transport {
    pub(crate) fn new(login: Login) -> Self {
        let counters = Arc::new(Counters::default());
        let pool = || Arc::new(Pool::new(IDLE, Arc::clone(&counters)));
        Self { login, watches: pool(), operations: pool(), counters: Arc::clone(&counters) }
    }

    /// Returns the API server that the credentials name now.
    pub(crate) fn server(&self) -> Arc<Server> {
        Arc::clone(&self.login.last_known().server)
    }

    pub(crate) fn stats(&self) -> TransportStats {
        self.counters.snapshot()
    }

    /// Sends a request, whose URI is a path, and returns the response as soon as it begins.
    pub(crate) async fn send(
        &self,
        class: RequestClass,
        request: &Request<Bytes>,
    ) -> Result<Response<Body>, TransportError> {
        let login = |source: ConnectError| TransportError::Login(Box::new(source));
        let state = self.login.state().await.map_err(login)?;
        let answer = self.send_as(&state, class, request).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        match self.login.after_refusal(&state).await.map_err(login)? {
            Some(state) => self.send_as(&state, class, request).await,
            None => Ok(answer),
        }
    }

    async fn send_as(
        &self,
        state: &LoginState,
        class: RequestClass,
        request: &Request<Bytes>,
    ) -> Result<Response<Body>, TransportError> {
        let pool = match class {
            RequestClass::Watches => &self.watches,
            RequestClass::Operations => &self.operations,
        };
        let is_repeatable = request.method().is_safe();
        let (mut attempt, mut broke_by) = (1, None);
        loop {
            let slot = pool.slot(&state.server).await?;
            let request = state.address(request, slot.speaks_http2())?.map(Full::new);
            self.counters.requested();
            let error = match slot.send(request).await {
                Ok(answer) => return Ok(answer.map(|incoming| Body::new(incoming, slot))),
                Err(error) => error,
            };
            broke_by = slot.broke_by().or(broke_by);
            let failure = Failure::of(&error);
            let may_repeat = match failure {
                Failure::NotProcessed => true,
                // An idle connection may have been closed just now, which does not mean that the server is down.
                Failure::Broken => is_repeatable && slot.was_used_before(),
                Failure::Reset => false,
            };
            if !may_repeat || attempt == ATTEMPTS {
                // The error of an unprocessed request lacks the cause, such as a required client certificate.
                let reason = broke_by.filter(|_| failure == Failure::NotProcessed);
                return Err(state.server.broken(reason.unwrap_or(error)));
            }
            attempt += 1;
        }
    }
}
