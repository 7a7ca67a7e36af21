//! Takes what hubs ask for and sees to it that each is done at most once, in order, and that its outcome is told.
//!
//! ```text
//! request ─▶ known already? ─▶ account, verb ─▶ door (arrival order) ─▶ kind, namespace ─▶ lane of the object ─▶ room ─▶ verb
//! ```
//!
//! It outlives sessions: what was begun goes on while the link is down, and what came of it is told to the next one.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::FutureExt;
use parking_lot::Mutex;
use serde_json::Value;
use spindrift_model::{AccountName, Ending, OperationId, Outcome, Verb};
use spindrift_process::shutdown::{BoxError, Shutdown, TaskGroup};
use spindrift_protocol::Request;
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use super::{
    Answer, Failure, Hand,
    lanes::Lanes,
    outbox::{Known, Letterbox, Outbox},
    subject::{Aim, Subject},
    verbs,
};
use crate::{
    account::{Account, Accounts},
    config::{AgentConfig, Retries, ServerSideApply},
    metrics::Metrics,
};

/// How many mutations of one account run at once. An API server bears more, but not from one of many clients.
const MUTATIONS: usize = 32;
/// How many reads of one account run at once; each holds some hundred kilobytes at most.
const READS: usize = 16;
/// How many may follow something (logs, a rollout) at once, besides: they hold a stream, and little else.
const FOLLOWERS: usize = 64;
/// How many operations may wait or run; each holds its manifest. A hub that sends more is not heard.
const MOST: usize = 8192;

/// Does what hubs ask for.
#[derive(Debug)]
pub struct Executor {
    shared: Arc<Shared>,
    tasks: TaskGroup,
}

struct Shared {
    accounts_rx: watch::Receiver<Accounts>,
    server_side_apply: Arc<ServerSideApply>,
    retries: Retries,
    metrics: Arc<Metrics>,
    outbox: Arc<Outbox>,
    /// Until it is known what a mutation is about, it keeps its place among those of its account.
    doors: Lanes<AccountName>,
    lanes: Lanes<(AccountName, Aim)>,
    rooms: Mutex<HashMap<AccountName, Arc<Room>>>,
    running: Mutex<HashMap<OperationId, CancellationToken>>,
}

/// How much of one account runs at once.
#[derive(Debug)]
struct Room {
    mutations: Semaphore,
    reads: Semaphore,
    followers: Semaphore,
}

/// One operation on its way.
struct Task {
    shared: Arc<Shared>,
    account: Arc<Account>,
    operation: OperationId,
    verb: Verb,
    deadline: Instant,
    cancelled: CancellationToken,
}

// === impl Executor ===

impl Executor {
    /// Without anything to do yet; it ends with the shutdown.
    pub fn new(
        config: &AgentConfig,
        accounts_rx: watch::Receiver<Accounts>,
        metrics: Arc<Metrics>,
        shutdown: &Shutdown,
    ) -> Self {
        let shared = Shared {
            accounts_rx,
            server_side_apply: config.kubernetes.server_side_apply.clone().into(),
            retries: config.kubernetes.retries.clone(),
            metrics,
            outbox: Arc::new(Outbox::new(config.clouddriver.response_retries.clone())),
            doors: Lanes::default(),
            lanes: Lanes::default(),
            rooms: Mutex::default(),
            running: Mutex::default(),
        };
        Self { shared: Arc::new(shared), tasks: shutdown.group("operations") }
    }

    /// The answers.
    pub fn outbox(&self) -> &Outbox {
        &self.shared.outbox
    }

    /// Begins an operation, unless its id is known. Whatever is wrong with it is its answer.
    pub fn submit(&self, request: Request) {
        let Request { operation, account, time_left, verb } = request;
        let shared = &self.shared;
        let read = read_verb(&verb);
        let cancelled = self.tasks.token().child_token();
        // A verb that is not understood does nothing: it can be refused as often as it comes.
        let is_mutation = read.as_ref().is_ok_and(Verb::is_mutation);
        let crowded = shared.outbox.len() >= MOST;
        if shared.outbox.open(operation, is_mutation, &cancelled) == Known::Already {
            return;
        }
        let refuse = |failure: Failure| {
            debug!(operationId = %operation, %account, ?failure, "an operation is refused");
            let ending = Ending { outcome: failure.into_outcome(), took: Duration::ZERO };
            shared.outbox.close(operation, Bytes::new(), ending);
        };
        let verb = match read {
            Ok(verb) => verb,
            Err(failure) => return refuse(failure),
        };
        if crowded {
            let message = format!("{MOST} operations wait in this agent; try again later");
            return refuse(Failure::ours(429, "TooManyRequests", message));
        }
        let Some(found) = shared.accounts_rx.borrow().get(&account).cloned() else {
            let message = format!("account {account} is not served by this agent now");
            return refuse(Failure::ours(503, "ServiceUnavailable", message));
        };
        shared.running.lock().insert(operation, cancelled.clone());
        let task = Task {
            shared: shared.clone(),
            account: found,
            operation,
            verb,
            deadline: Instant::now() + time_left,
            cancelled,
        };
        // Here, in the order of arrival, and not when the task is first polled.
        let door = is_mutation.then(|| shared.doors.enter(account));
        let name = format!("{} {operation}", task.verb.name());
        self.tasks.spawn(name, async move {
            task.run(door).await;
            Ok::<_, BoxError>(())
        });
    }

    /// Calls an operation off: one that waits is never begun, one that reads ends, one that changes something is heard out.
    pub fn cancel(&self, operation: OperationId) {
        if let Some(cancelled) = self.shared.running.lock().get(&operation) {
            info!(operationId = %operation, "the operation is called off");
            cancelled.cancel();
        }
    }
}

// === impl Task ===

type Door = super::lanes::Place<AccountName>;

impl Task {
    async fn run(self, door: Option<Door>) {
        let begun = Instant::now();
        let letterbox = Letterbox::new(self.shared.outbox.clone(), self.operation);
        let done = self.perform(door, &letterbox).await;
        let took = begun.elapsed();
        let (outcome, rest) = match done {
            Ok(Answer { code, body }) => (Outcome::Succeeded { code }, body),
            Err(failure) => (failure.into_outcome(), Bytes::new()),
        };
        self.tell(&outcome, took);
        self.shared.running.lock().remove(&self.operation);
        self.shared.outbox.close(self.operation, rest, Ending { outcome, took });
    }

    async fn perform(&self, door: Option<Door>, letterbox: &Letterbox) -> Result<Answer, Failure> {
        let hand = Hand {
            operation: self.operation,
            account: self.account.clone(),
            server_side_apply: self.shared.server_side_apply.clone(),
            retries: self.shared.retries.clone(),
            deadline: self.deadline,
            cancelled: self.cancelled.clone(),
            metrics: self.shared.metrics.clone(),
        };
        if self.verb.is_mutation() {
            self.change(&hand, door, letterbox).await
        } else {
            self.read(&hand, letterbox).await
        }
    }

    /// In order, and once begun, to its end.
    async fn change(
        &self,
        hand: &Hand,
        door: Option<Door>,
        letterbox: &Letterbox,
    ) -> Result<Answer, Failure> {
        let name = &self.account.description.name;
        let room = self.shared.room(name);
        let waiting = async {
            if let Some(door) = &door {
                door.turn().await;
            }
            let subject = Subject::of(&self.verb)?;
            let aim = match subject {
                Some(subject) => Some(subject.aim(hand).await?),
                None => None,
            };
            let lane = aim.map(|aim| self.shared.lanes.enter((name.clone(), aim)));
            // Whoever comes next stands behind us in that lane, or in another.
            drop(door);
            if let Some(lane) = &lane {
                lane.turn().await;
            }
            let permit = room.mutations.acquire().await.ok();
            Ok::<_, Failure>((lane, permit))
        };
        let _turn = self.in_time(waiting).await??;
        hand.go_on()?;
        let done = AssertUnwindSafe(verbs::run(hand, self.verb.clone(), letterbox)).catch_unwind().await;
        done.unwrap_or_else(|_| {
            Err(Failure::Unknown(
                "the agent stumbled over a bug of its own while it did this; see its log".into(),
            ))
        })
    }

    /// At any moment it may end.
    async fn read(&self, hand: &Hand, letterbox: &Letterbox) -> Result<Answer, Failure> {
        let room = self.shared.room(&self.account.description.name);
        let reading = async {
            let semaphore = if verbs::follows(&self.verb) { &room.followers } else { &room.reads };
            let _permit = semaphore.acquire().await.ok();
            if let Some(subject) = Subject::of(&self.verb)? {
                subject.aim(hand).await?;
            }
            verbs::run(hand, self.verb.clone(), letterbox).await
        };
        let done = self.in_time(AssertUnwindSafe(reading).catch_unwind()).await?;
        done.unwrap_or_else(|_| {
            let message = "the agent stumbled over a bug of its own; see its log";
            Err(Failure::ours(500, "InternalError", message))
        })
    }

    /// What can be left at any moment: until it is done, nobody wants it, or its time is over.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        match timeout_at(self.deadline, self.cancelled.run_until_cancelled(work)).await {
            Ok(Some(done)) => Ok(done),
            Ok(None) => Err(Failure::Cancelled),
            Err(_) => Err(Failure::Expired),
        }
    }

    /// A line for each operation, in the original's words.
    fn tell(&self, outcome: &Outcome, took: Duration) {
        let verb = self.verb.name();
        self.shared.metrics.operated(verb, outcome, took);
        let account = &self.account.description.name;
        let status = match outcome {
            Outcome::Succeeded { code } | Outcome::Failed { code, .. } => code.to_string(),
            other => other.word().to_owned(),
        };
        info!(operationId = %self.operation, operationType = verb, %account,
            "Operation {verb} processed (status {status}) in {took:?}");
        if let Outcome::Failed { status, .. } = outcome {
            debug!(operationId = %self.operation, status = %String::from_utf8_lossy(status), "the operation failed");
        }
    }
}

// === impl Shared ===

impl Shared {
    fn room(&self, account: &AccountName) -> Arc<Room> {
        self.rooms.lock().entry(account.clone()).or_default().clone()
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("running", &self.running.lock().len()).finish_non_exhaustive()
    }
}

// === impl Room ===

impl Default for Room {
    fn default() -> Self {
        Self {
            mutations: Semaphore::new(MUTATIONS),
            reads: Semaphore::new(READS),
            followers: Semaphore::new(FOLLOWERS),
        }
    }
}

/// A newer hub may ask for what this agent does not know: that is an answer, not an accident.
fn read_verb(verb: &[u8]) -> Result<Verb, Failure> {
    serde_json::from_slice(verb).map_err(|error| {
        let named = serde_json::from_slice::<Value>(verb).ok();
        match named.as_ref().and_then(|named| named.get("verb")?.as_str()) {
            Some(name) if !Verb::NAMES.contains(&name) => {
                Failure::ours(501, "NotImplemented", format!("this agent does not know the verb {name}"))
            }
            Some(name) => Failure::ours(400, "BadRequest", format!("{name}: {}", without_values(&error))),
            None => Failure::ours(400, "BadRequest", "verb: expected an object with the field verb"),
        }
    })
}

/// What was asked for may hold secrets: of what is wrong, only words are repeated that cannot be values.
fn without_values(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let is_safe =
        ["unknown field", "missing field", "unknown variant"].iter().any(|known| text.starts_with(known));
    if is_safe { text } else { "a field is not of the type that is expected".into() }
}
