//! Who asks: credentials as they were last read, and read again when they change.
//!
//! ```text
//! kubeconfig, token, certificates ──reading──▶ user ──┬─▶ Standing: server, headers, end
//!          ▲                        credential plugin ┘       │
//!          └── a file changed · the plugin's answer ends · 401 ┘
//! ```
//!
//! Open streams are never touched: another token goes with the next request, another certificate or server with the next
//! connection. If files cannot be read for a while, what was read last is used.

mod error;
mod plugin;
mod reading;
mod stamps;
mod user;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use http::{HeaderMap, HeaderValue, Request, header};
use jiff::{SignedDuration, Timestamp};
use parking_lot::RwLock;
use spindrift_process::report;
use tokio::{sync::Mutex, task::spawn_blocking, time::Instant};
use tracing::{info, warn};

pub use error::{LoginError, PluginError};
pub(crate) use reading::Reading;
use stamps::Stamps;
use user::User;

use super::{
    error::TransportError,
    server::{Server, ServerParts},
};
use crate::client::credentials::{ApiOptions, ConnectError, Credentials};

/// Credentials that are kept up to date.
pub(crate) struct Login {
    credentials: Credentials,
    options: ApiOptions,
    current: RwLock<Current>,
    /// Held by the one who renews.
    turn: Mutex<Turn>,
}

#[derive(Default)]
struct Turn {
    /// When the API server's refusal was last a reason to renew.
    refused: Option<Instant>,
    /// A renewal that has begun. Who began it may be in more of a hurry than a plugin that logs in somewhere; the next
    /// one goes on waiting for it.
    loading: Option<BoxFuture<'static, Result<Standing, ConnectError>>>,
}

#[derive(Clone)]
struct Current {
    standing: Arc<Standing>,
    /// When the files were last looked at.
    looked: Instant,
}

/// One state of the credentials.
pub(crate) struct Standing {
    pub(crate) server: Arc<Server>,
    /// What proves who asks, and as whom.
    headers: HeaderMap,
    /// When a plugin's answer ends.
    end: Option<Timestamp>,
    stamps: Stamps,
}

/// Files are looked at no more often than this.
const LOOK: Duration = Duration::from_secs(1);

/// If new credentials do not help either, they are not asked for with each refused request.
const REFUSAL_PAUSE: Duration = Duration::from_secs(5);

/// A request should arrive before its token ends.
const MARGIN: SignedDuration = SignedDuration::from_secs(10);

// === impl Login ===

impl Login {
    /// Reads the credentials, and runs the plugin if they name one.
    pub(crate) async fn open(credentials: &Credentials, options: &ApiOptions) -> Result<Self, ConnectError> {
        let standing = Arc::new(Standing::load(credentials.clone(), options.clone()).await?);
        Ok(Self {
            credentials: credentials.clone(),
            options: options.clone(),
            current: RwLock::new(Current { standing, looked: Instant::now() }),
            turn: Mutex::default(),
        })
    }

    pub(crate) fn last_known(&self) -> Arc<Standing> {
        Arc::clone(&self.current.read().standing)
    }

    /// The credentials as they are now.
    pub(crate) async fn standing(&self) -> Result<Arc<Standing>, ConnectError> {
        if let Some(standing) = self.just_seen() {
            return Ok(standing);
        }
        let mut turn = self.turn.lock().await;
        // Others may have looked meanwhile.
        if let Some(standing) = self.just_seen() {
            return Ok(standing);
        }
        let last = self.last_known();
        if !last.has_ended() && !self.has_changed(&last).await {
            self.current.write().looked = Instant::now();
            return Ok(last);
        }
        match self.load(&mut turn).await {
            Ok(standing) => Ok(self.adopt(standing).0),
            Err(error) if last.has_ended() => Err(error),
            Err(error) => {
                warn!(error = %report(&error), "credentials have changed and cannot be used; the last ones still are");
                self.current.write().looked = Instant::now();
                Ok(last)
            }
        }
    }

    /// New credentials in place of those that the API server refused, if there are any.
    pub(crate) async fn after_refusal(
        &self,
        refused: &Arc<Standing>,
    ) -> Result<Option<Arc<Standing>>, ConnectError> {
        let mut turn = self.turn.lock().await;
        let last = self.last_known();
        if !last.is_same(refused) {
            return Ok(Some(last));
        }
        // What nobody has waited for to its end is another matter.
        if turn.loading.is_none() && turn.refused.is_some_and(|refused| refused.elapsed() < REFUSAL_PAUSE) {
            return Ok(None);
        }
        turn.refused = Some(Instant::now());
        match self.load(&mut turn).await {
            Ok(standing) => {
                let (standing, differs) = self.adopt(standing);
                Ok(differs.then_some(standing))
            }
            // Its own words say more than the API server's "unauthorized".
            Err(error) if error.is_plugin() => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Reads the credentials anew, or waits for the reading that has begun.
    async fn load(&self, turn: &mut Turn) -> Result<Standing, ConnectError> {
        let begin = || Standing::load(self.credentials.clone(), self.options.clone()).boxed();
        let loaded = turn.loading.get_or_insert_with(begin).await;
        turn.loading = None;
        loaded
    }

    fn just_seen(&self) -> Option<Arc<Standing>> {
        let current = self.current.read();
        (current.looked.elapsed() < LOOK).then(|| Arc::clone(&current.standing))
    }

    async fn has_changed(&self, standing: &Arc<Standing>) -> bool {
        let standing = Arc::clone(standing);
        // A disk that does not answer must not stop the runtime.
        spawn_blocking(move || standing.stamps.have_changed()).await.unwrap_or(false)
    }

    /// Takes new credentials; also tells whether they differ from the last ones.
    fn adopt(&self, mut standing: Standing) -> (Arc<Standing>, bool) {
        let mut current = self.current.write();
        let last = &current.standing;
        let differs = !standing.is_same(last);
        if standing.server.is_same(&last.server) {
            standing.server = Arc::clone(&last.server);
        }
        if differs {
            info!(
                credentials = self.credentials.origin(),
                "credentials have changed and are used from now on"
            );
        }
        *current = Current { standing: Arc::new(standing), looked: Instant::now() };
        (Arc::clone(&current.standing), differs)
    }
}

// === impl Standing ===

impl Standing {
    async fn load(credentials: Credentials, options: ApiOptions) -> Result<Self, ConnectError> {
        let origin = credentials.origin();
        let unusable = |source| ConnectError::Unusable { origin: origin.clone(), source: Box::new(source) };
        let read = spawn_blocking(move || {
            let mut reading = Reading::of(&credentials, &options)?;
            let user = User::read(&mut reading, options.impersonate.as_deref());
            Ok((reading, user))
        });
        let read = read.await.map_err(|source| ConnectError::Panicked { origin: origin.clone(), source })?;
        let (reading, user) = read?;
        let mut user = user.map_err(unusable)?;
        let mut end = None;
        if let Some(plugin) = &reading.user.exec {
            let issued = plugin::run(plugin).await.map_err(|error| unusable(error.into()))?;
            end = issued.end;
            user.take_from(issued).map_err(unusable)?;
        }
        let Reading { server, authorities, insecure, server_name, proxy, stamps, user: _ } = reading;
        let User { mut headers, identity } = user;
        headers.insert(header::USER_AGENT, USER_AGENT);
        let parts = ServerParts { url: server, authorities, insecure, server_name, identity, proxy };
        let server = Server::build(parts).map_err(|error| unusable(error.into()))?;
        Ok(Self { server: Arc::new(server), headers, end, stamps })
    }

    fn has_ended(&self) -> bool {
        self.end.is_some_and(|end| Timestamp::now() + MARGIN >= end)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.headers == other.headers && self.server.is_same(&other.server)
    }

    /// A request, whose URI is a path, as it goes over a connection.
    pub(super) fn address(
        &self,
        request: &Request<Bytes>,
        is_http2: bool,
    ) -> Result<Request<Bytes>, TransportError> {
        let mut request = request.clone();
        let uri = self.server.uri_of(request.uri()).map_err(TransportError::Request)?;
        let headers = request.headers_mut();
        headers.extend(self.headers.clone());
        *request.uri_mut() = if is_http2 {
            uri
        } else {
            let host = Server::host_header(&uri).map_err(TransportError::Request)?;
            headers.insert(header::HOST, host);
            uri.path_and_query().cloned().map(Into::into).unwrap_or_default()
        };
        Ok(request)
    }
}

const USER_AGENT: HeaderValue = HeaderValue::from_static(concat!("spindrift/", env!("CARGO_PKG_VERSION")));
