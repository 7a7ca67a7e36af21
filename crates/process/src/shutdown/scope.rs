//! Tasks that live and end together.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::failure::{BoxError, TaskFailed};

/// A token, the tasks that listen to it and the first failure among them.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) token: CancellationToken,
    name: Option<Cow<'static, str>>,
    ending: Ending,
    parent: Option<Arc<Scope>>,
    tasks: Mutex<Tasks>,
    /// Notified whenever a task has ended.
    ended: Notify,
}

/// Meaning of a task that returns before the shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Failure,
    Fine,
}

#[derive(Debug, Default)]
struct Tasks {
    running: BTreeMap<u64, Running>,
    next_id: u64,
    failure: Option<TaskFailed>,
}

#[derive(Debug)]
struct Running {
    name: Cow<'static, str>,
    /// Present once the task is spawned.
    abort: Option<AbortHandle>,
}

/// The entry of one task in one scope; dropped with the task, however that ends.
struct Entry {
    scope: Arc<Scope>,
    id: u64,
}

// === impl Scope ===

impl Scope {
    pub(super) fn root(ending: Ending) -> Arc<Self> {
        Arc::new(Self::new(CancellationToken::new(), None, ending, None))
    }

    pub(super) fn child(self: &Arc<Self>, name: Cow<'static, str>) -> Arc<Self> {
        let parent = Some(Arc::clone(self));
        Arc::new(Self::new(self.token.child_token(), Some(name), Ending::Fine, parent))
    }

    fn new(
        token: CancellationToken,
        name: Option<Cow<'static, str>>,
        ending: Ending,
        parent: Option<Arc<Scope>>,
    ) -> Self {
        Self { token, name, ending, parent, tasks: Mutex::default(), ended: Notify::new() }
    }

    /// Runs a task in this scope; the scopes above wait for it too.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where tasks get their parent and their name"
    )]
    pub(super) fn spawn<F, E>(self: &Arc<Self>, name: Cow<'static, str>, task: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        let entries = self.enter(name.clone());
        let ids: Vec<_> = entries.iter().map(|entry| (Arc::clone(&entry.scope), entry.id)).collect();
        let scope = Arc::clone(self);
        let handle = tokio::spawn(async move {
            let result = AssertUnwindSafe(task).catch_unwind().await;
            let failure = match result {
                Ok(Ok(())) if scope.ending == Ending::Fine || scope.token.is_cancelled() => None,
                Ok(Ok(())) => Some(TaskFailed::EndedEarly { task: name }),
                Ok(Err(source)) => Some(TaskFailed::Failed { task: name, source: source.into() }),
                Err(payload) => Some(TaskFailed::panicked(name, payload.as_ref())),
            };
            if let Some(failure) = failure {
                scope.fail(failure);
            }
            // Only now, so that an empty scope implies that the failure is visible.
            drop(entries);
        });
        for (scope, id) in ids {
            if let Some(running) = scope.tasks.lock().running.get_mut(&id) {
                running.abort = Some(handle.abort_handle());
            }
        }
    }

    /// Ends the scope; only the first failure is kept, the others follow from it or from the shutdown.
    fn fail(&self, failure: TaskFailed) {
        {
            let mut tasks = self.tasks.lock();
            if tasks.failure.is_none() {
                tasks.failure = Some(failure);
            } else {
                debug!(error = &failure as &dyn std::error::Error, "another task failed");
            }
        }
        self.token.cancel();
    }

    /// Waits until no task is left.
    pub(super) async fn empty(&self) {
        loop {
            let ended = self.ended.notified();
            if self.tasks.lock().running.is_empty() {
                return;
            }
            ended.await;
        }
    }

    /// Waits until no task is left, at most for the grace period; aborts and names the rest.
    pub(super) async fn drain(&self, grace: Duration) -> Vec<String> {
        match tokio::time::timeout(grace, self.empty()).await {
            Ok(()) => Vec::new(),
            Err(_elapsed) => self.abort_rest(),
        }
    }

    /// Aborts the running tasks and returns their names.
    pub(super) fn abort_rest(&self) -> Vec<String> {
        let tasks = self.tasks.lock();
        for abort in tasks.running.values().filter_map(|running| running.abort.as_ref()) {
            abort.abort();
        }
        tasks.running.values().map(|running| running.name.to_string()).collect()
    }

    /// Returns the names of the running tasks.
    pub(super) fn running(&self) -> Vec<String> {
        self.tasks.lock().running.values().map(|running| running.name.to_string()).collect()
    }

    /// Gives the first failure, or the tasks that were stuck.
    pub(super) fn outcome(&self, stuck: Vec<String>) -> Result<(), TaskFailed> {
        let failure = self.tasks.lock().failure.take();
        let stuck = (!stuck.is_empty()).then_some(TaskFailed::Stuck { tasks: stuck });
        match (failure, stuck) {
            (Some(failure), Some(stuck)) => {
                warn!(error = &stuck as &dyn std::error::Error, "tasks aborted");
                Err(failure)
            }
            (Some(failure), None) | (None, Some(failure)) => Err(failure),
            (None, None) => Ok(()),
        }
    }

    /// Registers a task here and in all scopes above, where its name carries the name of the group.
    fn enter(self: &Arc<Self>, name: Cow<'static, str>) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut scope = Arc::clone(self);
        let mut name = name;
        loop {
            let id = {
                let mut tasks = scope.tasks.lock();
                let id = tasks.next_id;
                tasks.next_id += 1;
                tasks.running.insert(id, Running { name: name.clone(), abort: None });
                id
            };
            entries.push(Entry { scope: Arc::clone(&scope), id });
            let Some(parent) = &scope.parent else {
                return entries;
            };
            if let Some(group) = &scope.name {
                name = Cow::Owned(format!("{group}/{name}"));
            }
            scope = Arc::clone(parent);
        }
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // The group was not joined, or it failed after that; the failure must not be lost.
        if let Some(failure) = self.tasks.get_mut().failure.take() {
            let group = self.name.as_deref().unwrap_or("process");
            warn!(group, error = &failure as &dyn std::error::Error, "task failed and nobody asked");
        }
    }
}

// === impl Entry ===

impl Drop for Entry {
    fn drop(&mut self) {
        self.scope.tasks.lock().running.remove(&self.id);
        self.scope.ended.notify_waiters();
    }
}
