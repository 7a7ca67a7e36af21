//! Tasks: what Spinnaker asks for, done step by step through agents, and told line by line.
//!
//! ```text
//! POST ─▶ submission: readable? account? valid? allowed? ─▶ row in the store ─▶ Run
//! Run ─▶ each operation (Act) ─▶ Steps: say, learn, change ─▶ end: results and state at once
//! ```
//!
//! A run is a function of what was asked and of what it learned. What it learns is written down before it changes
//! anything because of it, and each change has an id that follows from task, attempt and number of the step. So a hub that
//! finds a task which another one left, or an earlier life of its own, runs it again from its beginning: it learns what was
//! learned before, what was done answers as it did, and nothing is done or said twice.

mod act;
mod halt;
mod reconcile;
mod run;
mod steps;
mod submission;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, sync::Arc, time::Duration};

use aws_lc_rs::digest;
use bytes::Bytes;
use parking_lot::Mutex;
use spindrift_model::{HubId, TenantId};
use spindrift_process::shutdown::{Shutdown, TaskGroup};
use spindrift_spinnaker::{Line, Refusal, Request, Task, TaskError, TaskReference, TaskState};

pub use submission::Rejected;

use run::Run;

use super::{Accounts, Caller, Live};
use crate::{
    config::Kubernetes,
    dispatch::{Place, Vault},
    hex::hex,
    store::{NewTask, Store, StoreError, TaskId, TaskInserted, TaskRow},
};

/// How long a task that ended can be asked for: as long as Clouddriver keeps them in SQL.
pub const RETENTION: Duration = Duration::from_hours(4 * 24);

/// Whose tasks these are, and who runs them.
#[derive(Debug, Clone)]
pub struct TasksConfig {
    pub hub: HubId,
    pub tenant: TenantId,
    /// A hub that was not heard of for so long is gone.
    pub silence: Duration,
    /// How things are deployed.
    pub kubernetes: Arc<Kubernetes>,
}

/// Takes tasks on and runs them; clones share it.
#[derive(Debug, Clone)]
pub struct Tasks {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: TasksConfig,
    /// Who this life of the hub is, to Spinnaker.
    owner: String,
    store: Store,
    accounts: Accounts,
    live: Live,
    vault: Arc<Vault>,
    /// The attempts that this hub is at work on.
    running: Mutex<HashSet<(TaskId, u32)>>,
    group: TaskGroup,
}

/// Says that this hub is at work on an attempt at a task, until it is dropped.
#[derive(Debug)]
struct AtWork {
    shared: Arc<Shared>,
    id: TaskId,
    attempt: u32,
}

// === impl Tasks ===

impl Tasks {
    /// Nothing runs yet; [`Tasks::start`] takes up what an earlier life left.
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
        Self { shared: Arc::new(Shared { config, owner, store, accounts, live, vault, running, group }) }
    }

    /// Takes up what an earlier life of this hub, or a hub that died, left behind.
    pub fn start(&self) {
        self.shared.group.spawn("tasks.reconcile", reconcile::run(Arc::clone(&self.shared)));
    }

    /// Takes a request on if all of it makes sense; what was asked before under the same id is only told of again.
    pub async fn submit(
        &self,
        provider: &str,
        request: Request,
        client_request: Option<&str>,
        caller: &Caller,
    ) -> Result<TaskReference, Rejected> {
        let body = serde_json::to_vec(&request).map(Bytes::from);
        let body = body.map_err(|error| Refusal::illegal_argument(error.to_string()))?;
        submission::check(&self.shared.accounts, provider, request, caller).await?;
        let id = TaskId::fresh();
        let new = self.shared.new_task(id, client_request, &body, &[Line::initializing()])?;
        // Before the row is there, so that nobody takes it for one that was left behind.
        let at_work = self.shared.at_work(id, 0);
        let (id, at_work) = match self.shared.store.insert_task(&new).await? {
            TaskInserted::New => (id, at_work),
            TaskInserted::Known(known, TaskState::FailedRetryable) => {
                let again =
                    self.shared.new_task(known, client_request, &body, &[Line::initializing_again()])?;
                let attempt = self.shared.store.retry_task(known, &again).await?;
                (known, attempt.and_then(|attempt| self.shared.at_work(known, attempt)))
            }
            TaskInserted::Known(known, _) => (known, None),
        };
        if let Some(at_work) = at_work {
            self.shared.run(at_work, Some(body));
        }
        Ok(TaskReference::new(id.to_string()))
    }

    /// One task.
    pub async fn find(&self, id: &str) -> Result<Task, Rejected> {
        let row = self.shared.row(id).await?;
        Ok(self.shared.told(row).await?)
    }

    /// Those that have not ended.
    pub async fn running(&self) -> Result<Vec<Task>, StoreError> {
        let mut tasks = Vec::new();
        for row in self.shared.store.open_tasks(&self.shared.config.tenant, None).await? {
            tasks.push(self.shared.told(row).await?);
        }
        Ok(tasks)
    }

    /// Ends a task as failed, whatever it is doing; with `retry`, it may be asked for again.
    pub async fn give_up(&self, id: &str, retry: bool) -> Result<TaskReference, Rejected> {
        let row = self.shared.row(id).await?;
        let state = row.state.given_up(retry)?;
        if !self.shared.store.give_up_task(&self.shared.config.tenant, row.id, state).await? {
            return Err(TaskError::Completed.into());
        }
        Ok(TaskReference::new(id))
    }

    /// Asks again for what a task that may be tried again was asked for, as a new task.
    pub async fn restart(
        &self,
        id: &str,
        provider: &str,
        request: Request,
        caller: &Caller,
    ) -> Result<TaskReference, Rejected> {
        if !self.shared.row(id).await?.state.is_retryable() {
            return Err(TaskError::NotRetryable(id.into()).into());
        }
        self.submit(provider, request, None, caller).await
    }

    /// Sagas are not for Kubernetes: whatever the task, there is none to resume.
    pub async fn resume(&self, id: &str) -> Result<TaskReference, Rejected> {
        let error = if self.shared.row(id).await?.state.is_retryable() {
            TaskError::NotResumable(id.into())
        } else {
            TaskError::NotRetryable(id.into())
        };
        Err(error.into())
    }
}

// === impl Shared ===

impl Shared {
    async fn row(&self, id: &str) -> Result<TaskRow, Rejected> {
        let not_found = || TaskError::NotFound(id.into());
        let parsed = id.parse().map_err(|_| not_found())?;
        let row = self.store.task(&self.config.tenant, parsed).await?;
        Ok(row.ok_or_else(not_found)?)
    }

    /// With what it said: read after the row, so that who sees the end sees all that was said before.
    async fn told(&self, row: TaskRow) -> Result<Task, StoreError> {
        let said = self.store.task_said(&self.config.tenant, row.id).await?;
        let lines =
            said.iter().flat_map(|said| serde_json::from_slice::<Vec<Line>>(said).unwrap_or_default());
        Ok(Task {
            id: row.id.to_string(),
            state: row.state,
            history: lines.collect(),
            result_objects: serde_json::from_slice(&row.results).unwrap_or_default(),
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
        let sealed = self.vault.seal(id.ulid(), Place::Task, body);
        // Of any length and alphabet: what is unique is its digest. Without one, nothing is asked twice.
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
            said: serde_json::to_vec(said).unwrap_or_default().into(),
        })
    }

    /// None if this hub is at work on it already.
    fn at_work(self: &Arc<Self>, id: TaskId, attempt: u32) -> Option<AtWork> {
        let is_new = self.running.lock().insert((id, attempt));
        is_new.then(|| AtWork { shared: Arc::clone(self), id, attempt })
    }

    fn run(self: &Arc<Self>, at_work: AtWork, body: Option<Bytes>) {
        let name = format!("task {}", at_work.id);
        self.group.spawn(name, Run::new(at_work, body).run());
    }
}

// === impl AtWork ===

impl Drop for AtWork {
    fn drop(&mut self) {
        self.shared.running.lock().remove(&(self.id, self.attempt));
    }
}
