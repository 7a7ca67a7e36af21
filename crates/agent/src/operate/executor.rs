//! Takes what hubs ask for and sees to it that each is done at most once, in order, and that its outcome is told.
//!
//! ```text
//! request ─▶ known already? ─▶ account, verb ─▶ door (arrival order) ─▶ kind, namespace ─▶ lane of the object ─▶ room ─▶ verb
//! ```
//!
//! It outlives sessions: what was begun goes on while the link is down, and what came of it is told to the next one.

mod task;

use std::{collections::HashMap, sync::Arc, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use spindrift_model::{AccountName, Ending, OperationId, Pace, Verb};
use spindrift_process::{
    shutdown::{BoxError, Shutdown, TaskGroup},
    turnstile::{Pass, Turnstile},
};
use spindrift_protocol::Request;
use tokio::{sync::watch, time::Instant};
use tracing::{debug, info};

use self::task::Task;
use super::{Failure, lanes::Lanes, outbox::Outbox, subject::Aim};
use crate::{
    account::Accounts,
    config::{AgentConfig, Retries, ServerSideApply},
    metrics::Metrics,
};

/// How many mutations of one account run at once. An API server bears more, but not from one of many clients.
const CHANGES: usize = 32;
/// How many mutations may wait at once, besides, for the cluster to do the rest.
const WAITS: usize = 32;
/// How many reads of one thing run at once.
const GLANCES: usize = 16;
/// How many reads of much run at once, besides; each holds some hundred kilobytes at most.
const HAULS: usize = 8;
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
}

/// How much of one account runs at once. Each pace has room of its own, in which verbs and namespaces take turns.
#[derive(Debug)]
struct Room {
    glances: Turnstile,
    hauls: Turnstile,
    changes: Turnstile,
    waits: Turnstile,
    followers: Turnstile,
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
        let Some(letterbox) = shared.outbox.open(operation, is_mutation, &cancelled) else { return };
        let refuse = |failure: Failure| {
            debug!(operationId = %operation, %account, ?failure, "an operation is refused");
            let ending = Ending { outcome: failure.into_outcome(), took: Duration::ZERO };
            letterbox.close(Bytes::new(), ending);
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
        let task = Task {
            shared: shared.clone(),
            account: found,
            operation,
            verb,
            deadline: Instant::now() + time_left,
            cancelled,
            letterbox,
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
        info!(operationId = %operation, "the operation is called off");
        self.shared.outbox.cancel(operation);
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
        f.debug_struct("Shared").field("operations", &self.outbox.len()).finish_non_exhaustive()
    }
}

// === impl Room ===

impl Room {
    /// Waits until this verb may begin.
    async fn place(&self, verb: &Verb, namespace: Option<&str>) -> Pass {
        let turnstile = match Pace::of(verb) {
            Pace::Glance => &self.glances,
            Pace::Haul => &self.hauls,
            Pace::Change => &self.changes,
            Pace::Wait => &self.waits,
            Pace::Follow => &self.followers,
        };
        turnstile.pass(&format!("{} {}", verb.name(), namespace.unwrap_or_default())).await
    }
}

impl Default for Room {
    fn default() -> Self {
        Self {
            glances: Turnstile::new(GLANCES),
            hauls: Turnstile::new(HAULS),
            changes: Turnstile::new(CHANGES),
            waits: Turnstile::new(WAITS),
            followers: Turnstile::new(FOLLOWERS),
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
