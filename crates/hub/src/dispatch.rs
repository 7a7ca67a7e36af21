//! Operations on their way to an agent, and what comes of them on the way back.
//!
//! ```text
//! rest ─▶ submit: account? frozen? namespace? room? known id? ─▶ row in the store ─▶ Driver
//! Driver: Seeking ─▶ Sending ─▶ Waiting ─▶ end            one task for each operation
//!            │ agent is at another hub                    ▲
//!            └──────────▶ Following ── the row says so ───┘
//! results ─▶ arrived ─▶ the operation's driver, or one that takes it over ─▶ Running (rest), or the store
//! ```
//!
//! At most once: the row says `sent` to which incarnation of which agent before a byte leaves. What changes something is
//! sent again to that incarnation only, which knows what it has done; if it is gone, nobody knows, and that is said.

mod about;
mod admission;
mod answer;
mod driver;
mod keys;
mod ledger;
mod links;
mod reconcile;
mod refusal;
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
use spindrift_model::{AccountName, HubId, OperationId, TenantId, Verb};
use spindrift_process::{
    shutdown::{Shutdown, TaskGroup},
    turnstile::Turnstile,
};
use spindrift_protocol::{ResultPart, ResultsDown};
use tokio::{sync::mpsc, time::Instant};

pub use admission::Bounds;
pub use keys::{key_beside, open_vault};
pub use refusal::Refusal;
pub use running::{Event, Running};
pub use vault::{Vault, VaultError};

pub(crate) use driver::UNSURE;
pub(crate) use links::{Link, Links};
pub(crate) use vault::Place;

use admission::{Admission, Admitted};
use driver::{Driver, Stage, Task};
use ledger::Ledger;
use running::{Arrival, Entry};

use crate::{
    metrics::Metrics,
    store::{Route, Seat, Store, StoreError},
};

/// How operations are sent.
#[derive(Debug, Clone)]
pub struct DispatchConfig {
    /// This hub.
    pub hub: HubId,
    /// Whose operations these are.
    pub tenant: TenantId,
    /// How long an operation may take unless its caller says.
    pub deadline: Duration,
    /// How often an agent is looked for, and how long it is waited in between.
    pub retries: u32,
    /// How long it is waited in between.
    pub backoff: Duration,
    /// How much may be under way.
    pub bounds: Bounds,
    /// An agent or hub that was not heard of for so long is gone.
    pub silence: Duration,
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct Order {
    /// The caller's own id, if it has one: what is asked twice under it is done once.
    pub id: Option<OperationId>,
    /// Where.
    pub account: AccountName,
    /// What.
    pub verb: Verb,
    /// How long it may take.
    pub deadline: Option<Duration>,
    /// Whether the answer is stored, since the caller may come for it later.
    pub keep: bool,
}

/// Sends operations and awaits their answers; clones share it.
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
    lookups: Turnstile,
    open: Mutex<HashMap<OperationId, Arc<Entry>>>,
    /// Those whose rows may be there, and that nobody drives yet.
    submitting: Mutex<HashSet<OperationId>>,
    /// Those of them that nobody will drive: should their rows be there, they are ended.
    withdrawn: Mutex<HashSet<OperationId>>,
    tasks: TaskGroup,
}

/// Routes that are looked up at once. The store has few readers and gives up on whoever waits too long for one: a crowd
/// waits here instead, where verbs and accounts take turns and others who read are not behind it.
const LOOKUPS: usize = 4;

/// What follows something goes on until its caller leaves, or at most so long.
pub const LONGEST: Duration = Duration::from_hours(24);

// === impl Dispatch ===

impl Dispatch {
    /// Nothing is under way yet; [`Dispatch::start`] takes up what an earlier life left.
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
            lookups: Turnstile::new(LOOKUPS),
            open: Mutex::default(),
            submitting: Mutex::default(),
            withdrawn: Mutex::default(),
            tasks,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Takes up what an earlier life of this hub, or a hub that died, left behind; and what other hubs hand over.
    pub fn start(&self) {
        let reconciler = reconcile::Reconciler::new(Arc::clone(&self.shared));
        self.shared.tasks.spawn("operations.reconcile", reconciler.run());
    }

    pub(crate) fn links(&self) -> &Arc<Links> {
        &self.shared.links
    }

    /// Calls an operation off, wherever it is; false if it has ended or was never known.
    pub async fn cancel(&self, id: OperationId) -> Result<bool, StoreError> {
        let open = self.shared.store.cancel_operation(&self.shared.config.tenant, id).await?;
        if let Some(entry) = self.shared.entry(id) {
            entry.cancel.cancel();
        }
        Ok(open)
    }

    /// Waits until the store says what callers have heard: they hear first.
    pub async fn written(&self) {
        self.shared.ledger.written().await;
    }

    /// A stored answer, from an offset on.
    pub async fn stored(&self, id: OperationId, from: u64) -> Result<Vec<Bytes>, StoreError> {
        answer::stored(&self.shared, id, from).await
    }

    /// A piece of an answer came; it finds its operation, or is looked after.
    pub(crate) fn arrived(&self, seat: Seat, part: ResultPart, down_tx: mpsc::UnboundedSender<ResultsDown>) {
        let shared = &self.shared;
        let entry = shared.entry(part.operation).or_else(|| {
            // The middle of an answer is of no use; who sends it will begin anew when its channel does.
            (part.offset == 0).then(|| shared.adopt(part.operation))
        });
        if let Some(entry) = entry {
            entry.arrivals_tx.send(Arrival { part, seat, down_tx }).ok();
        }
    }
}

// === impl Shared ===

impl Shared {
    fn entry(&self, id: OperationId) -> Option<Arc<Entry>> {
        self.open.lock().get(&id).cloned()
    }

    /// Who can be asked to do something in an account.
    async fn route(&self, account: &AccountName, verb: &str) -> Result<Option<Route>, StoreError> {
        let _place = self.lookups.pass(&format!("{verb} {account}")).await;
        self.store.route(&self.config.tenant, account, self.config.silence).await
    }

    /// Begins to carry an operation on.
    fn drive(
        self: &Arc<Self>,
        task: Task,
        stage: Stage,
        body: Option<Bytes>,
        deadline: Instant,
        keep: bool,
        admitted: Option<Admitted>,
    ) -> Running {
        let (arrivals_tx, arrivals_rx) = mpsc::unbounded_channel();
        let (events_tx, events_rx) = mpsc::unbounded_channel();
        let (id, mutation) = (task.id, task.mutation);
        let entry = Entry::new(id, keep, arrivals_tx);
        self.open.lock().insert(id, Arc::clone(&entry));
        let channels = (arrivals_rx, events_tx);
        let driver = Driver::new(Arc::clone(self), Arc::clone(&entry), task, deadline, channels)
            .with_body(body)
            .with_admission(admitted);
        self.tasks.spawn(format!("operation {id}"), driver.run(stage));
        Running { id, mutation, entry, events_rx }
    }

    /// Looks after an operation that the store may know, and this hub does not.
    fn adopt(self: &Arc<Self>, id: OperationId) -> Arc<Entry> {
        let (arrivals_tx, arrivals_rx) = mpsc::unbounded_channel();
        let entry = match self.open.lock().entry(id) {
            hash_map::Entry::Occupied(known) => return Arc::clone(known.get()),
            hash_map::Entry::Vacant(place) => Arc::clone(place.insert(Entry::new(id, true, arrivals_tx))),
        };
        let adoption = reconcile::adopt(Arc::clone(self), Arc::clone(&entry), arrivals_rx);
        self.tasks.spawn(format!("operation {id}"), adoption);
        entry
    }
}
