//! Ingest: from the chunks of an Events channel to committed objects.
//!
//! ```text
//! chunks ─▶ channel ─┬─▶ attach ─▶ coverage              does this agent read as much as the previous one?
//!                    ├─▶ fold ─▶ commit ─▶ store         batches of many accounts in one transaction
//!                    │              └────▶ feed ─▶ rest  wakes readers
//!   agent ◀──────────┴── acknowledgements, credit, fingerprints of stored objects
//! ```
//!
//! [`AccountFold`] follows the rules of the model in `protocol/tests/cursor_model`.

mod channel;

mod account_lag;
mod attach;
mod attached;
mod coverage;
mod credit;
mod fingerprints;

mod fold;

mod commit;

mod feed;

use std::{fmt::Debug, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use spindrift_model::{AccountName, CacheKinds, HubId};
use tokio::sync::Semaphore;

use crate::{
    metrics::Metrics,
    store::{DeriveRows, Store},
};

pub use account_lag::AccountLags;
pub use commit::{CommitResult, Committed, Committer, CommitterConfig};
pub use credit::CreditBudget;
pub use feed::Feed;
pub use fold::{AccountFold, FoldedBatch, ListBegun, Violation};

pub(crate) use channel::{EventsChannel, EventsOptions};

/// Settings of all Events channels.
#[derive(Debug, Clone)]
pub struct IngestConfig {
    /// Id of this hub.
    pub hub: HubId,
    /// Kinds that agents cache.
    pub kinds: CacheKinds,
    /// Duration after which an attachment without a sign of life may be taken over.
    pub lease: Duration,
    /// Bytes of batches that may be unacknowledged, over all accounts.
    pub budget: CreditBudget,
    /// Duration for which an agent that reads less of an account than the previous one stands by.
    pub coverage_grace: Duration,
}

/// Rules by which the objects of each account become rows.
///
/// The reader of the rows (`clouddriver`) implements it. Ingest passes the rules on to the store, so that the path of
/// the state is independent of Spinnaker.
pub trait RulesByAccount: Debug + Send + Sync {
    /// Returns the rules of an account, as last read; the defaults for an account without an entry.
    fn rules(&self, account: &AccountName) -> Arc<dyn DeriveRows>;

    /// Reads the rules of an account that was just attached, since it may have been announced a moment ago.
    fn attached<'a>(&'a self, account: &'a AccountName) -> BoxFuture<'a, ()>;

    /// Invalidates the rules read so far: an agent has announced accounts.
    fn announced(&self) -> BoxFuture<'_, ()>;
}

/// State shared by all Events channels.
#[derive(Debug)]
pub struct Ingest {
    config: IngestConfig,
    store: Store,
    rules: Arc<dyn RulesByAccount>,
    committer: Committer,
    /// Limits the lists whose fingerprints are read at once: each takes a connection, and eight bytes per object.
    fingerprint_reads: Semaphore,
    metrics: Arc<Metrics>,
}

/// Number of lists whose fingerprints are read at once: readers of REST need connections too.
const FINGERPRINT_READS: usize = 4;

// === impl Ingest ===

impl Ingest {
    /// Prepares the shared state; nothing runs yet.
    pub fn new(
        config: IngestConfig,
        store: Store,
        rules: Arc<dyn RulesByAccount>,
        committer: Committer,
        metrics: Arc<Metrics>,
    ) -> Self {
        let fingerprint_reads = Semaphore::new(FINGERPRINT_READS);
        Self { config, store, rules, committer, fingerprint_reads, metrics }
    }
}
