//! One shutdown story: every task has a parent, a name and an end.
//!
//! ```text
//! Shutdown ─┬─ spawn("serve.rest")        fails, panics or ends early ─▶ the process goes down, by name
//!           └─ group("session a1b2") ─┬─ spawn("reader")   fails ─▶ only the group ends
//!                                     └─ spawn("writer")
//! wait(grace): first failure, trigger or signal ─▶ token cancelled ─▶ drain ─▶ abort and name the rest
//! ```

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

mod failure;
mod group;
mod scope;

#[cfg(test)]
mod tests;

pub use self::failure::{BoxError, TaskFailed};
pub use self::group::TaskGroup;

use self::scope::{Ending, Scope};

/// The life of the process; clones share it.
#[derive(Debug, Clone)]
pub struct Shutdown {
    scope: Arc<Scope>,
    /// Cancelled by a second signal, which ends the drain.
    hurry: CancellationToken,
}

// === impl Shutdown ===

impl Shutdown {
    /// Starts the life of a process.
    pub fn new() -> Self {
        Self { scope: Scope::root(Ending::Failure), hurry: CancellationToken::new() }
    }

    /// Gives the token that is cancelled when the process has to stop.
    pub fn token(&self) -> CancellationToken {
        self.scope.token.clone()
    }

    /// Asks all tasks to end.
    pub fn trigger(&self) {
        self.scope.token.cancel();
    }

    /// Runs a task the process cannot live without: if it fails, panics or ends early, the process stops.
    pub fn spawn<F, E>(&self, name: impl Into<Cow<'static, str>>, task: F)
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.scope.spawn(name.into(), task);
    }

    /// Names the tasks that run now, those of groups too.
    pub fn running(&self) -> Vec<String> {
        self.scope.running()
    }

    /// Opens a group for the tasks of one account or session, whose failure ends only the group.
    pub fn group(&self, name: impl Into<Cow<'static, str>>) -> TaskGroup {
        TaskGroup::new(self.scope.child(name.into()))
    }

    /// Lets SIGTERM and SIGINT trigger the shutdown; a second signal ends the drain at once.
    pub fn on_signals(&self) -> io::Result<()> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let shutdown = self.clone();
        let mut listener = JoinSet::new();
        listener.spawn(async move {
            for repeated in [false, true] {
                let name = tokio::select! {
                    biased;
                    () = shutdown.hurry.cancelled() => return,
                    _ = terminate.recv() => "SIGTERM",
                    _ = interrupt.recv() => "SIGINT",
                };
                if repeated {
                    warn!(signal = name, "second signal, no longer waiting for tasks");
                    shutdown.hurry.cancel();
                } else {
                    info!(signal = name, "stopping");
                    shutdown.trigger();
                }
            }
        });
        // Not one of the tasks that are drained: it listens until the very end of `wait`.
        listener.detach_all();
        Ok(())
    }

    /// Waits for the end: the first failure, a trigger or a signal, then for all tasks within the grace period.
    ///
    /// Tasks that still run after that are aborted and named. The first failure is the result.
    pub async fn wait(&self, grace: Duration) -> Result<(), TaskFailed> {
        self.scope.token.cancelled().await;
        let stuck = tokio::select! {
            stuck = self.scope.drain(grace) => stuck,
            () = self.hurry.cancelled() => self.scope.abort_rest(),
        };
        self.hurry.cancel();
        self.scope.outcome(stuck)
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self::new()
    }
}
