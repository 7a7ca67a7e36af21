//! Current credentials, which are loaded again when they change.
//!
//! ```text
//! kubeconfig, token, certificates ──loaded──▶ user ──┬─▶ LoginState: server, headers, expiry
//!          ▲                       credential plugin ┘       │
//!          └── a file changed · plugin output expires · 401 ─┘
//! ```
//!
//! Open streams are not affected: a new token is used for the next request, a new certificate or server for the next
//! connection. While files cannot be read, the last credentials stay in use.

mod error;
mod loaded;
mod plugin;
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
pub(crate) use loaded::LoadedCredentials;
use stamps::Stamps;
use user::User;

use super::{
    error::TransportError,
    server::{Server, ServerParts},
};
use crate::client::credentials::{ApiOptions, ConnectError, Credentials};

/// Credentials that are reloaded when they change.
pub(crate) struct Login {
    credentials: Credentials,
    options: ApiOptions,
    current: RwLock<Current>,
    /// Held during a reload.
    reload: Mutex<Reload>,
}

#[derive(Default)]
struct Reload {
    /// Time of the last reload after a 401.
    refused: Option<Instant>,
    /// Reload in progress. The request that began it may time out before the plugin is done; the next request continues
    /// to wait for the same reload.
    loading: Option<BoxFuture<'static, Result<LoginState, ConnectError>>>,
}

#[derive(Clone)]
struct Current {
    state: Arc<LoginState>,
    /// Time of the last check of the files.
    checked: Instant,
}

/// Loaded credentials, ready for requests.
pub(crate) struct LoginState {
    pub(crate) server: Arc<Server>,
    /// `Authorization` and impersonation headers.
    headers: HeaderMap,
    /// Expiry of the credentials of a plugin.
    expiry: Option<Timestamp>,
    stamps: Stamps,
}

/// Shortest time between two checks of the files.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Shortest time between two reloads after a 401: if new credentials are refused too, not every request reloads them.
const RELOAD_PAUSE: Duration = Duration::from_secs(5);

/// Time before the expiry at which credentials are renewed, so that a request arrives with a valid token.
const MARGIN: SignedDuration = SignedDuration::from_secs(10);

// === impl Login ===

impl Login {
    /// Loads the credentials, and runs the plugin if they name one.
    pub(crate) async fn open(credentials: &Credentials, options: &ApiOptions) -> Result<Self, ConnectError> {
        let state = Arc::new(LoginState::load(credentials.clone(), options.clone()).await?);
        Ok(Self {
            credentials: credentials.clone(),
            options: options.clone(),
            current: RwLock::new(Current { state, checked: Instant::now() }),
            reload: Mutex::default(),
        })
    }

    pub(crate) fn last_known(&self) -> Arc<LoginState> {
        Arc::clone(&self.current.read().state)
    }

    /// Returns the current credentials; reloads them if files changed or they expired.
    pub(crate) async fn state(&self) -> Result<Arc<LoginState>, ConnectError> {
        if let Some(state) = self.recently_checked() {
            return Ok(state);
        }
        let mut reload = self.reload.lock().await;
        // Another request may have checked meanwhile.
        if let Some(state) = self.recently_checked() {
            return Ok(state);
        }
        let last = self.last_known();
        if !last.has_ended() && !self.has_changed(&last).await {
            self.current.write().checked = Instant::now();
            return Ok(last);
        }
        match self.load(&mut reload).await {
            Ok(state) => Ok(self.store(state).0),
            Err(error) if last.has_ended() => Err(error),
            Err(error) => {
                warn!(error = %report(&error), "credentials have changed and cannot be used; the last ones stay in use");
                self.current.write().checked = Instant::now();
                Ok(last)
            }
        }
    }

    /// Returns new credentials after the API server refused these, if they differ.
    pub(crate) async fn after_refusal(
        &self,
        refused: &Arc<LoginState>,
    ) -> Result<Option<Arc<LoginState>>, ConnectError> {
        let mut reload = self.reload.lock().await;
        let last = self.last_known();
        if !last.is_same(refused) {
            return Ok(Some(last));
        }
        // A reload that is still in progress does not count.
        if reload.loading.is_none() && reload.refused.is_some_and(|refused| refused.elapsed() < RELOAD_PAUSE)
        {
            return Ok(None);
        }
        reload.refused = Some(Instant::now());
        match self.load(&mut reload).await {
            Ok(state) => {
                let (state, differs) = self.store(state);
                Ok(differs.then_some(state))
            }
            // The error of the plugin explains more than the 401 of the API server.
            Err(error) if error.is_plugin() => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Reloads the credentials, or waits for the reload in progress.
    async fn load(&self, reload: &mut Reload) -> Result<LoginState, ConnectError> {
        let begin = || LoginState::load(self.credentials.clone(), self.options.clone()).boxed();
        let loaded = reload.loading.get_or_insert_with(begin).await;
        reload.loading = None;
        loaded
    }

    fn recently_checked(&self) -> Option<Arc<LoginState>> {
        let current = self.current.read();
        (current.checked.elapsed() < CHECK_INTERVAL).then(|| Arc::clone(&current.state))
    }

    async fn has_changed(&self, state: &Arc<LoginState>) -> bool {
        let state = Arc::clone(state);
        // A hanging disk must not block the runtime.
        spawn_blocking(move || state.stamps.have_changed()).await.unwrap_or(false)
    }

    /// Stores new credentials; returns them, and whether they differ from the last ones.
    fn store(&self, mut state: LoginState) -> (Arc<LoginState>, bool) {
        let mut current = self.current.write();
        let last = &current.state;
        let differs = !state.is_same(last);
        if state.server.is_same(&last.server) {
            state.server = Arc::clone(&last.server);
        }
        if differs {
            info!(
                credentials = self.credentials.origin(),
                "credentials have changed and are used from now on"
            );
        }
        *current = Current { state: Arc::new(state), checked: Instant::now() };
        (Arc::clone(&current.state), differs)
    }
}

// === impl LoginState ===

impl LoginState {
    async fn load(credentials: Credentials, options: ApiOptions) -> Result<Self, ConnectError> {
        let origin = credentials.origin();
        let unusable = |source| ConnectError::Unusable { origin: origin.clone(), source: Box::new(source) };
        let read = spawn_blocking(move || {
            let mut loaded = LoadedCredentials::of(&credentials, &options)?;
            let user = User::read(&mut loaded, options.impersonate.as_deref());
            Ok((loaded, user))
        });
        let read = read.await.map_err(|source| ConnectError::Panicked { origin: origin.clone(), source })?;
        let (loaded, user) = read?;
        let mut user = user.map_err(unusable)?;
        let mut expiry = None;
        if let Some(plugin) = &loaded.user.exec {
            let issued = plugin::run(plugin).await.map_err(|error| unusable(error.into()))?;
            expiry = issued.expiry;
            user.add_issued(issued).map_err(unusable)?;
        }
        let LoadedCredentials { server, authorities, insecure, server_name, proxy, stamps, user: _ } = loaded;
        let User { mut headers, identity } = user;
        headers.insert(header::USER_AGENT, USER_AGENT);
        let parts = ServerParts { url: server, authorities, insecure, server_name, identity, proxy };
        let server = Server::build(parts).map_err(|error| unusable(error.into()))?;
        Ok(Self { server: Arc::new(server), headers, expiry, stamps })
    }

    fn has_ended(&self) -> bool {
        self.expiry.is_some_and(|expiry| Timestamp::now() + MARGIN >= expiry)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.headers == other.headers && self.server.is_same(&other.server)
    }

    /// Completes a request, whose URI is a path, for a connection.
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
