//! Tasks: run Spinnaker's operations step by step through agents, and record their history.
//!
//! ```text
//! POST ─▶ submission: parsed? account? valid? allowed? ─▶ row in the store ─▶ Run
//! Run ─▶ each operation (OperationExecutor) ─▶ Steps: say, learn, change ─▶ end: results and state at once
//! ```
//!
//! A run is a function of the request and of the results of its reads. Those are written to the journal before a change that
//! depends on them, and each change has an id derived from task, attempt and step number. Therefore a hub that finds a task
//! of a hub that is gone, or of its own earlier incarnation, runs it again from the beginning: reads return the journaled
//! results, changes return their first outcome, and nothing is done or written to the history twice.

mod executor;
mod reconcile;
mod run;
mod step_error;
mod steps;
mod submission;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, sync::Arc, time::Duration};

use aws_lc_rs::digest;
use bytes::Bytes;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use spindrift_model::{HubId, TenantId};
use spindrift_process::{
    report,
    shutdown::{Shutdown, TaskGroup},
};
use spindrift_spinnaker::{Line, Refusal, Task, TaskError, TaskReference, TaskRequest, TaskState};
use tracing::error;

pub use submission::Rejected;

use run::Run;

use super::{Accounts, Caller, Live};
use crate::{
    config::Kubernetes,
    dispatch::{SealedItem, Vault},
    hex::hex,
    store::{NewTask, Store, StoreError, TaskId, TaskInserted, TaskRow},
};

/// Retention of tasks after their end, the same as Clouddriver's in SQL.
pub const RETENTION: Duration = Duration::from_hours(4 * 24);

/// Settings of the tasks of one hub.
#[derive(Debug, Clone)]
pub struct TasksConfig {
    pub hub: HubId,
    pub tenant: TenantId,
    /// Age of its last heartbeat after which another hub counts as gone.
    pub silence: Duration,
    /// Settings of deployments.
    pub kubernetes: Arc<Kubernetes>,
}

/// Accepts tasks and runs them; clones share the state.
#[derive(Debug, Clone)]
pub struct Tasks {
    shared: Arc<TasksShared>,
}

#[derive(Debug)]
struct TasksShared {
    config: TasksConfig,
    /// Owner id of this incarnation of the hub in Spinnaker's API.
    owner: String,
    store: Store,
    accounts: Accounts,
    live: Live,
    vault: Arc<Vault>,
    /// Attempts that this hub runs.
    running: Mutex<HashSet<(TaskId, u32)>>,
    group: TaskGroup,
}

/// Entry of an attempt in `running`, removed on drop.
#[derive(Debug)]
struct RunningAttempt {
    shared: Arc<TasksShared>,
    id: TaskId,
    attempt: u32,
}

// === impl Tasks ===

impl Tasks {
    /// Starts nothing yet; [`Tasks::start`] resumes tasks of the earlier incarnation.
    pub fn new(
        config: TasksConfig,
        store: Store,
        accounts: Accounts,
        live: Live,
        vault: Arc<Vault>,
        shutdown: &Shutdown,
    ) -> Self {
        let owner = format!("{}@{}", uuid::Uuid::new_v4(), config.hub);
        let (running, group) = (Mutex::default(), shutdown.group("tasks"));
        Self { shared: Arc::new(TasksShared { config, owner, store, accounts, live, vault, running, group }) }
    }

    /// Starts to resume tasks of this hub's earlier incarnation and of hubs that are gone.
    pub fn start(&self) {
        self.shared.group.spawn("tasks.reconcile", reconcile::run(Arc::clone(&self.shared)));
    }

    /// Validates a request and starts its task; a second request with the same `client_request` returns the first task.
    pub async fn submit(
        &self,
        provider: &str,
        request: TaskRequest,
        client_request: Option<&str>,
        caller: &Caller,
    ) -> Result<TaskReference, Rejected> {
        let body = serde_json::to_vec(&request).map(Bytes::from);
        let body = body.map_err(|error| Refusal::illegal_argument(error.to_string()))?;
        submission::check(&self.shared.accounts, provider, request, caller).await?;
        let id = TaskId::fresh();
        let new = self.shared.new_task(id, client_request, &body, &[Line::initializing()])?;
        // Before the row is inserted, so that `reconcile` does not take it for an abandoned one.
        let attempt = self.shared.register(id, 0);
        let (id, attempt) = match self.shared.store.insert_task(&new).await? {
            TaskInserted::New => (id, attempt),
            TaskInserted::Known(known, TaskState::FailedRetryable) => {
                let again =
                    self.shared.new_task(known, client_request, &body, &[Line::initializing_again()])?;
                let attempt = self.shared.store.retry_task(known, &again).await?;
                (known, attempt.and_then(|attempt| self.shared.register(known, attempt)))
            }
            TaskInserted::Known(known, _) => (known, None),
        };
        if let Some(attempt) = attempt {
            self.shared.run(attempt, Some(body));
        }
        Ok(TaskReference::new(id.to_string()))
    }

    /// Reads one task.
    pub async fn find(&self, id: &str) -> Result<Task, Rejected> {
        let row = self.shared.row(id).await?;
        Ok(self.shared.with_history(row).await?)
    }

    /// Tasks that have not ended. One whose row is corrupt is logged and left out.
    pub async fn running(&self) -> Result<Vec<Task>, StoreError> {
        let mut tasks = Vec::new();
        for row in self.shared.store.open_tasks(&self.shared.config.tenant, None).await? {
            let task = row.id;
            match self.shared.with_history(row).await {
                Err(cause @ StoreError::Json { .. }) => {
                    error!(%task, error = %report(&cause), "a stored task is corrupt");
                }
                found => tasks.push(found?),
            }
        }
        Ok(tasks)
    }

    /// Marks a running task as failed; with `retry`, it may be restarted.
    pub async fn give_up(&self, id: &str, retry: bool) -> Result<TaskReference, Rejected> {
        let row = self.shared.row(id).await?;
        let state = row.state.given_up(retry)?;
        if !self.shared.store.give_up_task(&self.shared.config.tenant, row.id, state).await? {
            return Err(TaskError::Completed.into());
        }
        Ok(TaskReference::new(id))
    }

    /// Starts a new task in place of a failed one that may be restarted.
    pub async fn restart(
        &self,
        id: &str,
        provider: &str,
        request: TaskRequest,
        caller: &Caller,
    ) -> Result<TaskReference, Rejected> {
        if !self.shared.row(id).await?.state.is_retryable() {
            return Err(TaskError::NotRetryable(id.into()).into());
        }
        self.submit(provider, request, None, caller).await
    }

    /// Rejects the resumption of a saga: Kubernetes has none.
    pub async fn resume(&self, id: &str) -> Result<TaskReference, Rejected> {
        let error = if self.shared.row(id).await?.state.is_retryable() {
            TaskError::NotResumable(id.into())
        } else {
            TaskError::NotRetryable(id.into())
        };
        Err(error.into())
    }
}

// === impl TasksShared ===

impl TasksShared {
    async fn row(&self, id: &str) -> Result<TaskRow, Rejected> {
        let not_found = || TaskError::NotFound(id.into());
        let parsed = id.parse().map_err(|_| not_found())?;
        let row = self.store.task(&self.config.tenant, parsed).await?;
        Ok(row.ok_or_else(not_found)?)
    }

    /// Adds the history to a row. It is read after the row, so that a task that has ended has its whole history.
    async fn with_history(&self, row: TaskRow) -> Result<Task, StoreError> {
        let said = self.store.task_said(&self.config.tenant, row.id).await?;
        let mut history = Vec::new();
        for lines in &said {
            history.extend(parse_list::<Line>("said", lines)?);
        }
        Ok(Task {
            id: row.id.to_string(),
            state: row.state,
            history,
            result_objects: parse_list("results", &row.results)?,
            start_time_ms: row.created_at.as_millisecond(),
            owner_id: row.owner,
        })
    }

    fn new_task(
        &self,
        id: TaskId,
        client_request: Option<&str>,
        body: &[u8],
        said: &[Line],
    ) -> Result<NewTask, Rejected> {
        let sealed = self.vault.seal(id.ulid(), SealedItem::Task, body);
        // A client's id may have any length and alphabet, so that its digest is stored. Without one, the task's own id is unique.
        let own = || id.to_string();
        let request = client_request.map_or_else(own, str::to_owned);
        Ok(NewTask {
            tenant: self.config.tenant.clone(),
            id,
            request: hex(digest::digest(&digest::SHA256, request.as_bytes()).as_ref()),
            driver: self.config.hub.clone(),
            owner: self.owner.clone(),
            key_id: self.vault.key_id().to_owned(),
            body: sealed?,
            said: serde_json::to_vec(said).expect("history lines have string keys").into(),
        })
    }

    /// Registers an attempt; none if this hub runs it already.
    fn register(self: &Arc<Self>, id: TaskId, attempt: u32) -> Option<RunningAttempt> {
        let is_new = self.running.lock().insert((id, attempt));
        is_new.then(|| RunningAttempt { shared: Arc::clone(self), id, attempt })
    }

    fn run(self: &Arc<Self>, attempt: RunningAttempt, body: Option<Bytes>) {
        let name = format!("task {}", attempt.id);
        self.group.spawn(name, Run::new(attempt, body).run());
    }
}

/// Parses a list in a column; a task that has none yet has an empty column.
fn parse_list<T: DeserializeOwned>(column: &'static str, text: &[u8]) -> Result<Vec<T>, StoreError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_slice(text).map_err(|source| StoreError::Json { column, source })
}

// === impl RunningAttempt ===

impl Drop for RunningAttempt {
    fn drop(&mut self) {
        self.shared.running.lock().remove(&(self.id, self.attempt));
    }
}
