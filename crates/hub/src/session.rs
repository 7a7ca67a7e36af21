//! Agents' sessions: registration, and the three channels that belong to it.
//!
//! ```text
//! Register ─▶ Registrar (who, which accounts, tokens) ─▶ store
//! Control  ─▶ gate (token) ─▶ control (pings, announcements); operations ◀─ dispatch
//! Events   ─▶ gate (token) ─▶ ingest
//! Results  ─▶ gate (token) ─▶ results ─▶ dispatch
//! ```
//!
//! A channel never waits for the store before it reads on: all channels of an agent share one connection, and a ping must
//! not wait behind a batch.
//!
//! Any hub replica accepts any channel, so what a channel needs to know of its session is in the store.

mod control;
mod gate;
mod registrar;
mod results;
mod service;
mod sessions;

use std::{sync::Arc, time::Duration};

use spindrift_model::{CacheKinds, HubId, TenantId};
use tokio::sync::Semaphore;

pub use gate::SubjectFilter;
pub use service::HubService;
pub use sessions::Sessions;

pub(crate) use sessions::Live;

use crate::{
    clouddriver::RuleBook,
    dispatch::Dispatch,
    ingest::{Budget, Committer},
    metrics::Metrics,
    store::Store,
};

/// How sessions behave.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// This hub.
    pub hub: HubId,
    /// Whose agents these are.
    pub tenant: TenantId,
    /// What agents are told to cache.
    pub kinds: CacheKinds,
    /// How often agents ping; three missed pings end a session.
    pub heartbeat: Duration,
    /// How long a channel may be opened with a token.
    pub token_ttl: Duration,
    /// How long an attachment is held without a sign of life.
    pub lease: Duration,
    /// How many bytes of batches may be unacknowledged, and for one account at the most.
    pub budget: Budget,
    /// How long an agent that shows less of an account than the one before stands by.
    pub succession_grace: Duration,
    /// How large agents let a batch grow.
    pub batch_bytes: u32,
    /// Which client certificates may speak.
    pub subjects: SubjectFilter,
}

/// What every channel works with.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) config: SessionConfig,
    pub(crate) store: Store,
    pub(crate) rules: RuleBook,
    pub(crate) committer: Committer,
    pub(crate) sessions: Sessions,
    pub(crate) dispatch: Dispatch,
    /// Listings whose fingerprints are being read: each takes a connection, and eight bytes per object.
    pub(crate) fingerprinting: Semaphore,
    pub(crate) metrics: Arc<Metrics>,
}
