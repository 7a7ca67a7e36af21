//! Executes the operations that hubs send: each at most once, in order, and with an outcome for the hub.
//!
//! ```text
//! request ─▶ known id? ─▶ account, verb ─▶ arrival queue ─▶ kind, namespace ─▶ object queue ─▶ concurrency limit ─▶ verb
//! ```
//!
//! It outlives sessions: running operations go on while the connection is down, and the next session gets their outcome.

mod execution;

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use spindrift_model::{
    AccountName, Ending, ErrorKind, Operation, OperationClass, OperationError, OperationId, Verb,
};
use spindrift_process::{
    fair_semaphore::{FairPermit, FairSemaphore},
    shutdown::{BoxError, Shutdown, TaskGroup},
};
use spindrift_protocol::EncodedOperation;
use tokio::{sync::watch, time::Instant};
use tracing::{debug, info};

use self::execution::Execution;
use super::{RunningOperations, queue::KeyedQueue, results::Results, target::ResolvedTarget};
use crate::{
    accounts::Accounts,
    config::{AgentConfig, Retries, ServerSideApply},
    metrics::Metrics,
};

// Limits per account. The hub sends more than these at once (`dispatch/admission.rs`), so that the next operation is here
// when one ends.

/// Changes that run at once. An API server bears more, but not from one of many clients.
const CHANGES: usize = 32;
/// Changes that wait at once for the cluster to complete them, in addition.
const WAITING_CHANGES: usize = 32;
/// Reads of one object that run at once.
const READS: usize = 16;
/// Bulk reads that run at once; each holds some hundred kilobytes at most.
const BULK_READS: usize = 8;
/// Streams (logs, a rollout) that run at once: each holds a connection, and little else.
const STREAMS: usize = 64;
/// Operations of the agent that wait or run; each holds its manifest. Beyond it, operations are refused.
const MAX_OPERATIONS: usize = 8192;

/// Executes operations.
#[derive(Debug)]
pub struct Executor {
    shared: Arc<Shared>,
    tasks: TaskGroup,
}

struct Shared {
    accounts_rx: watch::Receiver<Accounts>,
    server_side_apply: Arc<ServerSideApply>,
    reveal_secrets: bool,
    retries: Retries,
    metrics: Arc<Metrics>,
    results: Arc<Results>,
    /// Keeps changes of an account in the order of arrival until their targets are resolved.
    arrival_queue: KeyedQueue<AccountName>,
    object_queue: KeyedQueue<(AccountName, ResolvedTarget)>,
    concurrency: Mutex<HashMap<AccountName, Arc<Concurrency>>>,
    running: RunningOperations,
}

/// Concurrency limits of one account, one for each class. Within a class, verbs and namespaces take turns.
#[derive(Debug)]
struct Concurrency {
    reads: FairSemaphore,
    bulk_reads: FairSemaphore,
    changes: FairSemaphore,
    waiting_changes: FairSemaphore,
    streams: FairSemaphore,
}

// === impl Executor ===

impl Executor {
    /// Executor without operations; it ends with the shutdown.
    pub fn new(
        config: &AgentConfig,
        accounts_rx: watch::Receiver<Accounts>,
        metrics: Arc<Metrics>,
        shutdown: &Shutdown,
    ) -> Self {
        let shared = Shared {
            accounts_rx,
            server_side_apply: config.kubernetes.server_side_apply.clone().into(),
            reveal_secrets: config.kubernetes.reveal_secrets,
            retries: config.kubernetes.retries.clone(),
            metrics,
            results: Arc::new(Results::new(config.clouddriver.response_retries.clone())),
            arrival_queue: KeyedQueue::default(),
            object_queue: KeyedQueue::default(),
            concurrency: Mutex::default(),
            running: RunningOperations::default(),
        };
        Self { shared: Arc::new(shared), tasks: shutdown.group("operations") }
    }

    /// Results of the operations.
    pub fn results(&self) -> &Results {
        &self.shared.results
    }

    /// Operations that have not ended.
    pub fn running(&self) -> RunningOperations {
        self.shared.running.clone()
    }

    /// Starts an operation, unless its id is known. An invalid one is answered with its error.
    pub fn submit(&self, request: EncodedOperation) {
        let EncodedOperation { id, account, time_left, verb } = request;
        let shared = &self.shared;
        let read = read_verb(&verb);
        let cancelled = self.tasks.token().child_token();
        // A verb that is not understood does nothing: it can be refused as often as it comes.
        let is_mutation = read.as_ref().is_ok_and(Verb::is_mutation);
        let is_overloaded = shared.results.len() >= MAX_OPERATIONS;
        let Some(writer) = shared.results.open(id, is_mutation, &cancelled) else { return };
        let refuse = |error: OperationError| {
            debug!(operationId = %id, %account, ?error, "operation refused");
            writer.close(Bytes::new(), Ending::without_agent(error.into()));
        };
        let verb = match read {
            Ok(verb) => verb,
            Err(error) => return refuse(error),
        };
        if is_overloaded {
            let message = format!("{MAX_OPERATIONS} operations wait in this agent; try again later");
            return refuse(OperationError::agent(ErrorKind::AgentOverloaded, message));
        }
        let Some(found) = shared.accounts_rx.borrow().get(&account).cloned() else {
            let message = format!("account {account} is not served by this agent now");
            return refuse(OperationError::agent(ErrorKind::Unavailable, message));
        };
        // Here, in the order of arrival, and not when the task is first polled.
        let arrival = is_mutation.then(|| shared.arrival_queue.enter(account.clone()));
        let execution = Execution {
            shared: shared.clone(),
            account: found,
            operation: Operation { id, account, time_left: Some(time_left), verb },
            deadline: Instant::now() + time_left,
            cancelled,
            writer,
        };
        let name = format!("{} {id}", execution.operation.verb.name());
        self.tasks.spawn(name, async move {
            execution.run(arrival).await;
            Ok::<_, BoxError>(())
        });
    }

    /// Cancels an operation: a waiting one never starts, a read ends, a change that has begun runs to its end.
    pub fn cancel(&self, operation: OperationId) {
        info!(operationId = %operation, "operation cancelled");
        self.shared.results.cancel(operation);
    }
}

// === impl Shared ===

impl Shared {
    fn concurrency(&self, account: &AccountName) -> Arc<Concurrency> {
        self.concurrency.lock().entry(account.clone()).or_default().clone()
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("operations", &self.results.len()).finish_non_exhaustive()
    }
}

// === impl Concurrency ===

impl Concurrency {
    /// Waits until this verb may start.
    async fn acquire(&self, verb: &Verb, namespace: Option<&str>) -> FairPermit {
        let semaphore = match verb.class() {
            OperationClass::Read => &self.reads,
            OperationClass::BulkRead => &self.bulk_reads,
            OperationClass::Change => &self.changes,
            OperationClass::WaitingChange => &self.waiting_changes,
            OperationClass::Stream => &self.streams,
        };
        semaphore.acquire(&format!("{} {}", verb.name(), namespace.unwrap_or_default())).await
    }
}

impl Default for Concurrency {
    fn default() -> Self {
        Self {
            reads: FairSemaphore::new(READS),
            bulk_reads: FairSemaphore::new(BULK_READS),
            changes: FairSemaphore::new(CHANGES),
            waiting_changes: FairSemaphore::new(WAITING_CHANGES),
            streams: FairSemaphore::new(STREAMS),
        }
    }
}

/// Parses a verb. A newer hub may send one that this agent does not implement: that is an answer, not a failure.
fn read_verb(verb: &[u8]) -> Result<Verb, OperationError> {
    serde_json::from_slice(verb).map_err(|error| {
        let named = serde_json::from_slice::<Value>(verb).ok();
        match named.as_ref().and_then(|named| named.get("verb")?.as_str()) {
            Some(name) if !Verb::NAMES.contains(&name) => OperationError::agent(
                ErrorKind::NotImplemented,
                format!("this agent does not implement the verb {name}"),
            ),
            Some(name) => {
                OperationError::agent(ErrorKind::BadRequest, format!("{name}: {}", without_values(&error)))
            }
            None => {
                OperationError::agent(ErrorKind::BadRequest, "verb: expected an object with the field verb")
            }
        }
    })
}

/// The request may contain secrets: the message quotes only words that cannot be values.
fn without_values(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let is_safe =
        ["unknown field", "missing field", "unknown variant"].iter().any(|known| text.starts_with(known));
    if is_safe { text } else { "a field has an unexpected type".into() }
}
