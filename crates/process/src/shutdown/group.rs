//! The tasks of one account or one session.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::failure::{BoxError, TaskFailed};
use super::scope::Scope;

/// Time for the tasks of a group to end; shorter than any grace period of the process.
const GRACE: Duration = Duration::from_secs(10);

/// Tasks that end together: when one fails, when the group is dropped or when the process stops.
///
/// A task that ends well ends nothing but itself. The process waits for the tasks of its groups too.
#[must_use = "dropping the group cancels its tasks"]
#[derive(Debug)]
pub struct TaskGroup {
    scope: Arc<Scope>,
}

// === impl TaskGroup ===

impl TaskGroup {
    pub(super) fn new(scope: Arc<Scope>) -> Self {
        Self { scope }
    }

    /// Gives the token that is cancelled when the group has to end.
    pub fn token(&self) -> CancellationToken {
        self.scope.token.clone()
    }

    /// Runs a task of the group; if it fails or panics, the whole group ends.
    pub fn spawn<F, E>(&self, name: impl Into<Cow<'static, str>>, task: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.scope.spawn(name.into(), task);
    }

    /// Opens a group within this one.
    pub fn group(&self, name: impl Into<Cow<'static, str>>) -> TaskGroup {
        Self::new(self.scope.child(name.into()))
    }

    /// Asks all tasks to end.
    pub fn cancel(&self) {
        self.scope.token.cancel();
    }

    /// Waits until all tasks have ended by themselves or a failure ended the group; gives the first failure.
    pub async fn join(&self) -> Result<(), TaskFailed> {
        tokio::select! {
            () = self.scope.empty() => self.scope.outcome(Vec::new()),
            () = self.scope.token.cancelled() => self.finish().await,
        }
    }

    /// Asks all tasks to end and waits for them; those still running after ten seconds are aborted.
    pub async fn cancel_and_wait(&self) -> Result<(), TaskFailed> {
        self.cancel();
        self.finish().await
    }

    async fn finish(&self) -> Result<(), TaskFailed> {
        let stuck = self.scope.drain(GRACE).await;
        self.scope.outcome(stuck)
    }
}

impl Drop for TaskGroup {
    fn drop(&mut self) {
        self.cancel();
    }
}
