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
#[cfg(test)]
mod tests;
mod vault;

use std::{
    collections::{HashMap, HashSet, hash_map},
    convert::Infallible,
    sync::Arc,
    time::Duration,
};

use aws_lc_rs::digest;
use bytes::Bytes;
use parking_lot::Mutex;
use spindrift_model::{AccountName, Content, Ending, HubId, OperationId, Pace, TenantId, Verb};
use spindrift_process::{
    report,
    shutdown::{Shutdown, TaskGroup},
    turnstile::Turnstile,
};
use spindrift_protocol::{ResultPart, ResultsDown};
use tokio::{sync::mpsc, time::Instant};
use tracing::{error, info};

pub use admission::Bounds;
pub use keys::{key_beside, open_vault};
pub use refusal::Refusal;
pub use running::{Event, Running};
pub use vault::{Vault, VaultError};

pub(crate) use links::{Link, Links};
pub(crate) use vault::Place;

use about::About;
use admission::{Admission, Admitted, Applicant};
use driver::{Driver, Stage, Task};
use ledger::Ledger;
use running::{Arrival, Entry};

use crate::{
    hex::hex,
    metrics::Metrics,
    store::{Inserted, NewOperation, OperationEnd, Route, Seat, Step, Store, StoreError},
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
    tasks: TaskGroup,
}

/// Keeps the reconciler from taking up what is just being taken on.
#[derive(Debug)]
struct Submitting {
    shared: Arc<Shared>,
    id: OperationId,
}

/// Routes that are looked up at once. The store has few readers and gives up on whoever waits too long for one: a crowd
/// waits here instead, where verbs and accounts take turns and others who read are not behind it.
const LOOKUPS: usize = 4;

/// How often a row is looked for that may have been inserted though the store said nothing.
const WITHDRAWAL: Duration = Duration::from_secs(2);

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

    /// Takes an operation on, or refuses it; then something comes of it, whatever happens.
    pub async fn submit(&self, order: Order) -> Result<Running, Refusal> {
        let body: Bytes = serde_json::to_vec(&order.verb).map(Into::into).map_err(|error| {
            Refusal::new(400, "BadRequest", format!("the verb cannot be written as JSON: {error}"))
        })?;
        let (given, mutation) = (order.id, order.verb.is_mutation());
        let digest = digest_of(&order.account, &body);
        let refusal = match self.take_on(order, body, &digest).await {
            Ok(running) => return Ok(running),
            Err(refusal) => refusal,
        };
        // Whatever stands in its way now: what was asked before under this id has its own answer.
        let Some(id) = given else { return Err(refusal) };
        match self.shared.store.operation(&self.shared.config.tenant, id).await {
            Ok(Some(row)) if row.digest == digest => {
                Ok(self.follow(id, mutation, Instant::now() + row.time_left()))
            }
            _ => Err(refusal),
        }
    }

    async fn take_on(&self, order: Order, body: Bytes, digest: &str) -> Result<Running, Refusal> {
        let Order { id: given, account, verb, deadline, keep } = order;
        let shared = &self.shared;
        let DispatchConfig { hub, tenant, .. } = &shared.config;
        let (about, pace) = (About::of(&verb), Pace::of(&verb));
        let mutation = verb.is_mutation();
        let route = shared.route(&account, verb.name()).await.map_err(|error| unavailable(&error))?;
        let route = route.ok_or_else(|| Refusal::no_account(&account))?;
        if let Some(freeze) = route.frozen.as_ref().filter(|_| mutation) {
            return Err(Refusal::frozen(&account, &freeze.reason));
        }
        if let Some(namespace) = about.forbidden_namespace(&route.properties).filter(|_| mutation) {
            return Err(Refusal::namespace(namespace, &account));
        }
        let applicant = Applicant {
            account: &account,
            changes: mutation.then_some(&*about.target),
            pace,
            queue: format!("{} {}", verb.name(), about.namespace.as_deref().unwrap_or_default()),
            bytes: body.len(),
        };
        let mut admitted = shared.admission.admit(applicant).map_err(|bound| Refusal::too_many(&bound))?;

        let id = given.unwrap_or_else(OperationId::fresh);
        let task = Task { id, account, verb: verb.name(), target: about.target.clone(), mutation };
        let usual = if pace == Pace::Follow { LONGEST } else { shared.config.deadline };
        let time_left = deadline.unwrap_or(usual).min(LONGEST);
        let link = if admitted.is_next() { shared.choose_here(&task, &route) } else { None };
        let sealed = shared.vault.seal(id, Place::Body, &body).map_err(|failure| {
            error!(error = %report(&failure), "an operation could not be encrypted");
            Refusal::new(500, "InternalError", "the hub could not encrypt the operation; its log says why")
        })?;
        let new = Box::new(NewOperation {
            tenant: tenant.clone(),
            id,
            account: task.account.clone(),
            verb: task.verb,
            target: about.target,
            mutation,
            digest: digest.to_owned(),
            time_left,
            hub: hub.clone(),
            seat: link.as_ref().map(|link| link.seat().clone()),
            key_id: shared.vault.key_id().to_owned(),
            body: sealed,
        });
        let submitting = shared.submitting(id);
        let writing = shared.ledger.write(Step::Insert(new));
        // What only reads, for a caller who waits, may be sent before its row is there.
        let may_go = !mutation && !keep && given.is_none() && link.is_some();
        let written = if may_go { Ok(Inserted::New) } else { writing.await.map(Inserted::from) };
        let inserted = match written {
            Ok(inserted) => inserted,
            Err(error) => {
                let refusal = unavailable(&error);
                if let Some(submitting) = submitting {
                    let withdrawal = withdraw(submitting, refusal.clone(), Instant::now() + time_left);
                    shared.tasks.spawn(format!("withdraw {id}"), withdrawal);
                }
                return Err(refusal);
            }
        };
        match inserted {
            Inserted::New => {}
            Inserted::Known { digest: other } if other == digest => {
                return Ok(self.follow(id, mutation, Instant::now() + time_left));
            }
            Inserted::Known { .. } => {
                let message = format!("operation {id} is known, and was asked to do something else");
                return Err(Refusal::new(409, "Conflict", message));
            }
        }
        if about.reveals {
            info!(operation = %id, account = %task.account, target = task.target, "a caller asks for the values of a Secret");
        }
        let stage = match link {
            Some(link) => Stage::Sending(link),
            None => Stage::Seeking,
        };
        let keep = keep || given.is_some();
        Ok(shared.drive(task, stage, Some(body), Instant::now() + time_left, keep, Some(admitted)))
    }

    /// Follows an operation that was asked for before.
    fn follow(&self, id: OperationId, mutation: bool, deadline: Instant) -> Running {
        let (arrivals_tx, _) = mpsc::unbounded_channel();
        let (events_tx, events_rx) = mpsc::unbounded_channel();
        // Nothing arrives for it; it counts what its caller has taken.
        let entry = Entry::new(id, true, arrivals_tx);
        let follower =
            answer::Follower::new(Arc::clone(&self.shared), Arc::clone(&entry), events_tx, deadline);
        self.shared.tasks.spawn(format!("follow {id}"), follower.run());
        Running { id, mutation, entry, events_rx }
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

    /// None if another caller is just taking the same one on.
    fn submitting(self: &Arc<Self>, id: OperationId) -> Option<Submitting> {
        self.submitting.lock().insert(id).then(|| Submitting { shared: Arc::clone(self), id })
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

// === impl Submitting ===

impl Drop for Submitting {
    fn drop(&mut self) {
        self.shared.submitting.lock().remove(&self.id);
    }
}

fn unavailable(error: &StoreError) -> Refusal {
    error!(error = %report(error), "an operation was not taken on");
    Refusal::store()
}

/// The store did not say whether the row is there, and the caller was told that nothing was sent: so it stays. Until its
/// deadline nobody takes it up, and if it is found it is ended.
async fn withdraw(submitting: Submitting, refusal: Refusal, deadline: Instant) -> Result<(), Infallible> {
    let Submitting { shared, id } = &submitting;
    let ending = Ending { outcome: refusal.into(), took: Duration::ZERO };
    let end = OperationEnd { ending, content: Content::Json, answer_bytes: None, answered_to: None };
    let token = shared.tasks.token();
    while Instant::now() < deadline {
        if matches!(shared.store.end_operation(&shared.config.tenant, *id, &end).await, Ok(true)) {
            break;
        }
        if token.run_until_cancelled(tokio::time::sleep(WITHDRAWAL)).await.is_none() {
            break;
        }
    }
    Ok(())
}

fn digest_of(account: &AccountName, body: &[u8]) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    context.update(account.as_str().as_bytes());
    context.update(&[0]);
    context.update(body);
    hex(context.finish().as_ref())
}
