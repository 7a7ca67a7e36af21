//! Sessions of agents: registration, and the three channels of each session.
//!
//! ```text
//! Register ─▶ registrar (agent, accounts, tokens) ─▶ store
//! Control  ─▶ gate (token) ─▶ control (pings, announcements); operations ◀─ dispatch
//! Events   ─▶ gate (token) ─▶ ingest
//! Results  ─▶ gate (token) ─▶ results ─▶ dispatch
//! ```
//!
//! A channel reads on while the store works: all channels of an agent share one connection, and a ping must not wait
//! behind a batch.
//!
//! Any hub replica accepts any channel, so the state of a session that channels need is in the store.

mod control;
mod gate;
mod guard;
mod liveness;
mod registrar;
mod results;
mod service;
mod sessions;

use std::{sync::Arc, time::Duration};

use spindrift_model::{CacheKinds, HubId, TenantId};
use spindrift_process::serve::ByteBudget;

pub use gate::SubjectFilter;
pub use guard::{GuardedServer, unfinished_messages};
pub use service::HubService;
pub use sessions::Sessions;

use crate::{
    config::Runtime,
    dispatch::Dispatch,
    ingest::{Ingest, RulesByAccount},
    metrics::Metrics,
    store::Store,
};

/// Settings of all sessions.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// Id of this hub.
    pub hub: HubId,
    /// Tenant of the agents.
    pub tenant: TenantId,
    /// Kinds that agents cache.
    pub kinds: CacheKinds,
    /// Interval at which agents ping; three missed pings end a session.
    pub heartbeat: Duration,
    /// Duration for which a token opens a channel.
    pub token_ttl: Duration,
    /// Size up to which agents fill a batch.
    pub batch_bytes: u32,
    /// Numbers of accounts that are accepted.
    pub account_limits: AccountLimits,
    /// Client certificates that are accepted.
    pub subjects: SubjectFilter,
    /// Settings of accounts for Spinnaker.
    pub runtime: Runtime,
}

/// Numbers of accounts that are accepted; more are refused, by name.
#[derive(Debug, Clone, Copy)]
pub struct AccountLimits {
    /// Accounts of one session.
    pub per_agent: usize,
    /// Accounts in the store.
    pub per_hub: usize,
}

/// State shared by all channels.
#[derive(Debug)]
pub struct Context {
    /// Settings.
    pub config: SessionConfig,
    /// The database.
    pub store: Store,
    /// Receives the announcements of accounts.
    pub rules: Arc<dyn RulesByAccount>,
    /// Takes over the Events channels.
    pub ingest: Arc<Ingest>,
    /// Sessions whose channels end at this hub.
    pub sessions: Sessions,
    /// Sends operations to agents.
    pub dispatch: Dispatch,
    /// Bytes of messages of agents that are not whole.
    pub unfinished: ByteBudget,
    /// Metrics of this hub.
    pub metrics: Arc<Metrics>,
}
