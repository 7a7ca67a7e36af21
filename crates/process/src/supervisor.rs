//! Supervisor of tasks that are known by a key: a task that panics can be restarted after a pause.
//!
//! ```text
//! start(key) ──▶ runs ──▶ Ended(key, output)
//!   ▲              └────▶ Panicked(key) ──backoff──▶ RestartDue(key) ──┐
//!   └──────────────────────────────────── the owner starts it again ◀──┘
//! ```
//!
//! A panic ends one task only: the tasks of all other keys continue.

use std::{
    any::Any,
    collections::{HashMap, VecDeque},
    future::pending,
    hash::Hash,
    time::Duration,
};

use tokio::{
    task::{AbortHandle, Id, JoinError, JoinSet},
    time::{Instant, sleep_until},
};

use crate::backoff::{Backoff, BackoffConfig};

/// Backoff between a panic and the restart: most bugs need the same input, which comes again.
const RESTART: BackoffConfig =
    BackoffConfig { base: Duration::from_secs(1), multiplier: 2.0, jitter: 0.2, max: Duration::from_mins(1) };

/// Tasks by their keys. All of them are aborted when the supervisor is dropped.
#[derive(Debug)]
pub struct Supervisor<K, T> {
    tasks: JoinSet<T>,
    keys: HashMap<Id, K>,
    /// Latest task of each key, also of one that panicked.
    latest: HashMap<K, SupervisedTask>,
    /// Keys whose task panicked, with the time at which it is to be restarted.
    restarts: HashMap<K, Instant>,
    /// Events that occurred while the owner waited in [`Supervisor::stop`].
    events: VecDeque<TaskEvent<K, T>>,
    restart: BackoffConfig,
}

#[derive(Debug)]
struct SupervisedTask {
    task: AbortHandle,
    started: Instant,
    /// Kept over all restarts of the key.
    backoff: Backoff,
}

/// Event in the life of a supervised task.
#[derive(Debug, PartialEq, Eq)]
pub enum TaskEvent<K, T> {
    /// The task returned.
    Ended(K, T),
    /// The task panicked.
    Panicked(Panicked<K>),
    /// The pause after a panic has passed.
    RestartDue(K),
}

/// A task that panicked.
#[derive(Debug, PartialEq, Eq)]
pub struct Panicked<K> {
    /// Key of the task.
    pub key: K,
    /// Message of the panic.
    pub message: String,
    /// Pause until the restart is due.
    pub pause: Duration,
}

// === impl Supervisor ===

impl<K: Clone + Eq + Hash, T: Send + 'static> Supervisor<K, T> {
    /// Returns a supervisor without tasks.
    pub fn new() -> Self {
        Self::with_restart(RESTART)
    }

    fn with_restart(restart: BackoffConfig) -> Self {
        Self {
            tasks: JoinSet::new(),
            keys: HashMap::new(),
            latest: HashMap::new(),
            restarts: HashMap::new(),
            events: VecDeque::new(),
            restart,
        }
    }

    /// Starts the task of a key that has none.
    pub fn start(&mut self, key: K, task: impl Future<Output = T> + Send + 'static) {
        let task = self.tasks.spawn(task);
        self.keys.insert(task.id(), key.clone());
        let before = self.latest.remove(&key);
        let backoff = before.map_or_else(|| Backoff::new(self.restart), |before| before.backoff);
        self.latest.insert(key, SupervisedTask { task, started: Instant::now(), backoff });
    }

    /// Whether the key's task panicked and its restart is not due yet.
    pub fn awaits_restart(&self, key: &K) -> bool {
        self.restarts.contains_key(key)
    }

    /// Aborts the key's task, waits for its end and removes it, also one that awaits its restart.
    pub async fn stop(&mut self, key: &K) {
        let Some(SupervisedTask { task, .. }) = self.latest.remove(key) else { return };
        self.restarts.remove(key);
        self.events.retain(|event| event.key() != key);
        task.abort();
        while self.keys.contains_key(&task.id()) {
            let Some(joined) = self.tasks.join_next_with_id().await else { return };
            let event = self.joined(joined);
            self.events.extend(event);
        }
    }

    /// Waits for the next event; for ever, if there can be none.
    pub async fn next(&mut self) -> TaskEvent<K, T> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return event;
            }
            let first = self.restarts.iter().min_by_key(|(_, due)| **due);
            let first = first.map(|(key, due)| (key.clone(), *due));
            let restart = async {
                match first {
                    Some((key, due)) => {
                        sleep_until(due).await;
                        key
                    }
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(joined) = self.tasks.join_next_with_id() => {
                    let event = self.joined(joined);
                    self.events.extend(event);
                }
                key = restart => {
                    self.restarts.remove(&key);
                    return TaskEvent::RestartDue(key);
                }
            }
        }
    }

    /// Returns the event for the end of a task; none if the task was stopped.
    fn joined(&mut self, joined: Result<(Id, T), JoinError>) -> Option<TaskEvent<K, T>> {
        let id = match &joined {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let key = self.keys.remove(&id)?;
        let latest = self.latest.get_mut(&key).filter(|latest| latest.task.id() == id)?;
        match joined {
            Ok((_, output)) => {
                self.latest.remove(&key);
                Some(TaskEvent::Ended(key, output))
            }
            Err(error) => {
                let panic = error.try_into_panic().ok()?;
                latest.backoff.ended_after(latest.started.elapsed());
                let pause = latest.backoff.next();
                self.restarts.insert(key.clone(), Instant::now() + pause);
                Some(TaskEvent::Panicked(Panicked { key, message: message(panic.as_ref()), pause }))
            }
        }
    }
}

impl<K: Clone + Eq + Hash, T: Send + 'static> Default for Supervisor<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

// === impl TaskEvent ===

impl<K, T> TaskEvent<K, T> {
    fn key(&self) -> &K {
        match self {
            Self::Ended(key, _) | Self::RestartDue(key) => key,
            Self::Panicked(panicked) => &panicked.key,
        }
    }
}

/// Returns the message of a panic.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use futures::future::{lazy, ready};

    use super::*;

    const QUICK: BackoffConfig = BackoffConfig {
        base: Duration::from_millis(20),
        multiplier: 2.0,
        jitter: 0.0,
        max: Duration::from_millis(80),
    };

    fn panics() -> impl Future<Output = ()> {
        lazy(|_| panic!("not this again"))
    }

    async fn panicked(tasks: &mut Supervisor<&'static str, ()>) -> Panicked<&'static str> {
        match tasks.next().await {
            TaskEvent::Panicked(panicked) => panicked,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_task_that_panics_is_reported_by_key_and_due_again_after_growing_pauses() {
        let mut tasks = Supervisor::with_restart(QUICK);
        tasks.start("steady", pending());
        for pause in [20, 40, 80, 80].map(Duration::from_millis) {
            tasks.start("bad", panics());
            let panicked = panicked(&mut tasks).await;
            assert_eq!(panicked, Panicked { key: "bad", message: "not this again".into(), pause });
            assert!(tasks.awaits_restart(&"bad") && !tasks.awaits_restart(&"steady"));
            let reported = Instant::now();
            assert_eq!(tasks.next().await, TaskEvent::RestartDue("bad"));
            assert!(reported.elapsed() + Duration::from_millis(5) >= pause);
        }
        assert_eq!(tasks.tasks.len(), 1, "the other task is not affected");
    }

    #[tokio::test]
    async fn a_task_that_is_stopped_is_neither_reported_nor_due() {
        let mut tasks = Supervisor::with_restart(QUICK);
        tasks.start("awaits restart", panics());
        panicked(&mut tasks).await;
        tasks.stop(&"awaits restart").await;
        tasks.start("running", pending());
        // One task ends and another one panics while the owner waits for the end of a third.
        tasks.start("ends", ready(()));
        tasks.start("panics", panics());
        tasks.start("removed", panics());
        tokio::task::yield_now().await;
        tasks.stop(&"running").await;
        tasks.stop(&"removed").await;
        let events = [tasks.next().await, tasks.next().await];
        assert!(events.contains(&TaskEvent::Ended("ends", ())), "{events:?}");
        let panicked =
            events.iter().any(|event| matches!(event, TaskEvent::Panicked(one) if one.key == "panics"));
        assert!(panicked, "{events:?}");
        assert_eq!(tasks.next().await, TaskEvent::RestartDue("panics"));
        assert!(tasks.latest.keys().eq([&"panics"]) && tasks.tasks.is_empty());
    }
}
