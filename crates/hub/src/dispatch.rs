//! Operations on their way to an agent, and their results on the way back.
//!
//! ```text
//! rest ─▶ submit: account? frozen? namespace? limits? known id? ─▶ row in the store ─▶ Delivery
//! Delivery: Seeking ─▶ Sending ─▶ Waiting ─▶ end          one task for each operation
//!            │ agent is at another hub                    ▲
//!            └──────────▶ Following ── by the row ────────┘
//! results ─▶ arrived ─▶ the operation's delivery, or one that adopts it ─▶ Running (rest), or the store
//! ```
//!
//! At most once: before a byte leaves, the row has the state `sent` and the incarnation of the agent. A change is sent again
//! to that incarnation only, which has the ids that it executed; if it is gone, the outcome is unknown.

mod admission;
mod answer;
mod delivery;
mod errors;
mod keys;
mod ledger;
mod links;
mod reconcile;
mod running;
mod submit;
#[cfg(test)]
mod tests;
mod vault;

use std::{
    collections::{HashMap, HashSet, hash_map},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use parking_lot::Mutex;
use spindrift_model::{AccountName, HubId, Operation, OperationId, TenantId, Verb};
use spindrift_process::{
    fair_semaphore::FairSemaphore,
    shutdown::{Shutdown, TaskGroup},
};
use spindrift_protocol::{ResultPart, ResultsDown};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc},
    time::Instant,
};
use tracing::debug;

pub use admission::Bounds;
pub use keys::{key_beside, open_vault};
pub use running::{Event, Running};
pub use vault::{Vault, VaultError};

pub(crate) use links::{Link, Links};
pub(crate) use vault::SealedItem;

use admission::{Admission, Admitted};
use delivery::{Delivery, OperationSummary, Stage};
use ledger::Ledger;
use running::{Arrival, OpenOperation};

use crate::{
    metrics::Metrics,
    store::{Route, Seat, Store, StoreError},
};

/// Configuration of the dispatch.
#[derive(Debug, Clone)]
pub struct DispatchConfig {
    /// This hub.
    pub hub: HubId,
    /// Tenant of the operations.
    pub tenant: TenantId,
    /// Default deadline.
    pub deadline: Duration,
    /// Number of times that an agent is looked for.
    pub retries: u32,
    /// Pause between two of them.
    pub backoff: Duration,
    /// Limits.
    pub bounds: Bounds,
    /// Time without a heartbeat after which an agent or hub is gone.
    pub silence: Duration,
}

/// Request to carry out an operation.
#[derive(Debug, Clone)]
pub struct OperationRequest {
    /// The operation.
    pub operation: Operation,
    /// Set if the caller chose the id: a request that it submits twice is done once.
    pub has_given_id: bool,
    /// Set if the answer is stored, since the caller may read it later.
    pub keep: bool,
}

/// Sends operations and receives their results; clones share it.
#[derive(Debug, Clone)]
pub struct Dispatch {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: DispatchConfig,
    store: Store,
    ledger: Ledger,
    vault: Arc<Vault>,
    metrics: Arc<Metrics>,
    links: Arc<Links>,
    admission: Arc<Admission>,
    lookups: FairSemaphore,
    adoptions: Arc<Semaphore>,
    open: Mutex<HashMap<OperationId, Arc<OpenOperation>>>,
    /// Operations whose rows may exist, and whose delivery has not started.
    submitting: Mutex<HashSet<OperationId>>,
    /// Operations that will not be delivered: should their rows exist, they are ended.
    withdrawn: Mutex<HashSet<OperationId>>,
    tasks: TaskGroup,
}

/// Routes that are read at once. The store has few connections and fails reads that wait too long for one: many operations
/// wait here instead, where verbs and accounts take turns and other readers are not behind them.
const LOOKUPS: usize = 4;

/// Results of operations that are looked up in the store at once, because they are not open at this hub. A hub that was
/// restarted gets the results of all its operations; agents send those beyond this number in their next session.
const ADOPTIONS: usize = 4096;

/// Longest deadline; default of streams, which go on until their caller disconnects.
pub const LONGEST: Duration = Duration::from_hours(24);

// === impl OperationRequest ===

impl OperationRequest {
    /// Request under the caller's id, or else under a new one.
    pub fn new(id: Option<OperationId>, account: AccountName, verb: Verb) -> Self {
        let has_given_id = id.is_some();
        let id = id.unwrap_or_else(OperationId::fresh);
        let operation = Operation { id, account, time_left: None, verb };
        Self { operation, has_given_id, keep: false }
    }

    /// The same with a time until the deadline.
    #[must_use]
    pub fn within(mut self, time_left: Option<Duration>) -> Self {
        self.operation.time_left = time_left;
        self
    }

    /// The same; `keep` stores the answer.
    #[must_use]
    pub fn kept(self, keep: bool) -> Self {
        Self { keep, ..self }
    }
}

// === impl Dispatch ===

impl Dispatch {
    /// Dispatch without operations; [`Dispatch::start`] adopts those from before a restart.
    pub fn new(
        config: DispatchConfig,
        store: Store,
        vault: Arc<Vault>,
        metrics: Arc<Metrics>,
        shutdown: &Shutdown,
    ) -> Self {
        let tasks = shutdown.group("operations");
        let (ledger, writer) = Ledger::new(store.clone(), tasks.token());
        tasks.spawn("operations.ledger", writer);
        let shared = Shared {
            admission: Admission::new(config.bounds),
            config,
            store,
            ledger,
            vault,
            metrics,
            links: Arc::new(Links::new()),
            lookups: FairSemaphore::new(LOOKUPS),
            adoptions: Arc::new(Semaphore::new(ADOPTIONS)),
            open: Mutex::default(),
            submitting: Mutex::default(),
            withdrawn: Mutex::default(),
            tasks,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Adopts the operations of this hub from before its restart, of hubs that are gone, and those that other hubs hand over.
    pub fn start(&self) {
        let reconciler = reconcile::Reconciler::new(Arc::clone(&self.shared));
        self.shared.tasks.spawn("operations.reconcile", reconciler.run());
    }

    pub(crate) fn links(&self) -> &Arc<Links> {
        &self.shared.links
    }

    /// Cancels an operation at any hub; false if it has ended or is unknown.
    pub async fn cancel(&self, id: OperationId) -> Result<bool, StoreError> {
        let open = self.shared.store.cancel_operation(&self.shared.config.tenant, id).await?;
        if let Some(entry) = self.shared.entry(id) {
            entry.cancel.cancel();
        }
        Ok(open)
    }

    /// Waits until the store has what callers were told: they get it first.
    pub async fn written(&self) {
        self.shared.ledger.written().await;
    }

    /// Stored answer, from an offset on.
    pub async fn stored(&self, id: OperationId, from: u64) -> Result<Vec<Bytes>, StoreError> {
        answer::stored(&self.shared, id, from).await
    }

    /// Routes a piece of an answer to its operation, which is adopted if it is not open here.
    pub(crate) fn arrived(&self, seat: Seat, part: ResultPart, down_tx: mpsc::UnboundedSender<ResultsDown>) {
        let shared = &self.shared;
        let entry = shared.entry(part.operation).or_else(|| {
            // The middle of an answer is of no use; the agent sends it from the beginning on its next channel.
            if part.offset > 0 {
                return None;
            }
            let Ok(permit) = Arc::clone(&shared.adoptions).try_acquire_owned() else {
                debug!(operation = %part.operation, "too many results of unknown operations");
                return None;
            };
            Some(shared.adopt(part.operation, Some(permit)))
        });
        if let Some(entry) = entry {
            entry.arrivals_tx.send(Arrival { part, seat, down_tx }).ok();
        }
    }
}

// === impl Shared ===

impl Shared {
    fn entry(&self, id: OperationId) -> Option<Arc<OpenOperation>> {
        self.open.lock().get(&id).cloned()
    }

    /// Agents that can execute an operation in an account.
    async fn route(&self, account: &AccountName, verb: &str) -> Result<Option<Route>, StoreError> {
        let _permit = self.lookups.acquire(&format!("{verb} {account}")).await;
        self.store.route(&self.config.tenant, account, self.config.silence).await
    }

    /// Starts the delivery of an operation.
    fn deliver(
        self: &Arc<Self>,
        summary: OperationSummary,
        stage: Stage,
        body: Option<Bytes>,
        deadline: Instant,
        keep: bool,
        admitted: Option<Admitted>,
    ) -> Running {
        let (arrivals_tx, arrivals_rx) = mpsc::unbounded_channel();
        let (events_tx, events_rx) = mpsc::unbounded_channel();
        let (id, mutation) = (summary.id, summary.mutation);
        let entry = OpenOperation::new(id, keep, arrivals_tx);
        self.open.lock().insert(id, Arc::clone(&entry));
        let channels = (arrivals_rx, events_tx);
        let delivery = Delivery::new(Arc::clone(self), Arc::clone(&entry), summary, deadline, channels)
            .with_body(body)
            .with_admission(admitted);
        self.tasks.spawn(format!("operation {id}"), delivery.run(stage));
        Running { id, mutation, entry, events_rx }
    }

    /// Adopts an operation that the store may have, and that is not open at this hub.
    fn adopt(self: &Arc<Self>, id: OperationId, permit: Option<OwnedSemaphorePermit>) -> Arc<OpenOperation> {
        let (arrivals_tx, arrivals_rx) = mpsc::unbounded_channel();
        let entry = match self.open.lock().entry(id) {
            hash_map::Entry::Occupied(known) => return Arc::clone(known.get()),
            hash_map::Entry::Vacant(place) => {
                Arc::clone(place.insert(OpenOperation::new(id, true, arrivals_tx)))
            }
        };
        let adoption = reconcile::adopt(Arc::clone(self), Arc::clone(&entry), arrivals_rx, permit);
        self.tasks.spawn(format!("operation {id}"), adoption);
        entry
    }
}
