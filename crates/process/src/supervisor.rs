//! Tasks that are looked after: each is known by a key, and one that dies is due again after a pause.
//!
//! ```text
//! start(key) ──▶ runs ──▶ Ended(key)                          it came to its end
//!   ▲              └────▶ Died(key) ──pause──▶ Due(key) ──┐   it panicked: a bug, which is the others' affair no more
//!   └─────────────────────────────────────────────────────┘   than a bad cluster is
//! ```

use std::{
    any::Any,
    collections::{HashMap, VecDeque},
    future::pending,
    hash::Hash,
    time::Duration,
};

use crate::backoff::{Backoff, BackoffConfig};
use tokio::{
    task::{AbortHandle, Id, JoinError, JoinSet},
    time::{Instant, sleep_until},
};

/// What died is due again at this pace: most bugs need the same input, which comes again.
const PACE: BackoffConfig =
    BackoffConfig { base: Duration::from_secs(1), multiplier: 2.0, jitter: 0.2, max: Duration::from_mins(1) };

/// Tasks by their keys; all of them end when this is dropped.
#[derive(Debug)]
pub struct Attended<K, T> {
    tasks: JoinSet<T>,
    keys: HashMap<Id, K>,
    lives: HashMap<K, Life>,
    /// Those that died, and when they are due.
    resting: HashMap<K, Instant>,
    /// What happened while somebody waited for something else.
    news: VecDeque<News<K, T>>,
    pace: BackoffConfig,
}

/// A key's latest task.
#[derive(Debug)]
struct Life {
    task: AbortHandle,
    since: Instant,
    /// Over all its deaths.
    backoff: Backoff,
}

/// What happened to a task.
#[derive(Debug, PartialEq, Eq)]
pub enum News<K, T> {
    /// It came to its end.
    Ended(K, T),
    /// It panicked.
    Died(Death<K>),
    /// It died, and has rested.
    Due(K),
}

/// A task that panicked.
#[derive(Debug, PartialEq, Eq)]
pub struct Death<K> {
    pub key: K,
    /// The panic's text.
    pub words: String,
    /// It is due after this.
    pub pause: Duration,
}

// === impl Attended ===

impl<K: Clone + Eq + Hash, T: Send + 'static> Attended<K, T> {
    pub fn new() -> Self {
        Self::with_pace(PACE)
    }

    fn with_pace(pace: BackoffConfig) -> Self {
        Self {
            tasks: JoinSet::new(),
            keys: HashMap::new(),
            lives: HashMap::new(),
            resting: HashMap::new(),
            news: VecDeque::new(),
            pace,
        }
    }

    /// Starts the task of a key that has none.
    pub fn start(&mut self, key: K, task: impl Future<Output = T> + Send + 'static) {
        let task = self.tasks.spawn(task);
        self.keys.insert(task.id(), key.clone());
        let before = self.lives.remove(&key);
        let backoff = before.map_or_else(|| Backoff::new(self.pace), |life| life.backoff);
        self.lives.insert(key, Life { task, since: Instant::now(), backoff });
    }

    /// Whether the key's task has died and is not due yet.
    pub fn rests(&self, key: &K) -> bool {
        self.resting.contains_key(key)
    }

    /// Ends the key's task, waits for its end and forgets it, also one that has died.
    pub async fn stop(&mut self, key: &K) {
        let Some(Life { task, .. }) = self.lives.remove(key) else { return };
        self.resting.remove(key);
        self.news.retain(|news| news.key() != key);
        task.abort();
        while self.keys.contains_key(&task.id()) {
            let Some(joined) = self.tasks.join_next_with_id().await else { return };
            let news = self.joined(joined);
            self.news.extend(news);
        }
    }

    /// Waits for what happens next; for ever, if nothing can.
    pub async fn next(&mut self) -> News<K, T> {
        loop {
            if let Some(news) = self.news.pop_front() {
                return news;
            }
            let first = self.resting.iter().min_by_key(|(_, due)| **due);
            let first = first.map(|(key, due)| (key.clone(), *due));
            let rested = async {
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
                    let news = self.joined(joined);
                    self.news.extend(news);
                }
                key = rested => {
                    self.resting.remove(&key);
                    return News::Due(key);
                }
            }
        }
    }

    /// What the end of a task means; nothing, if it was stopped.
    fn joined(&mut self, joined: Result<(Id, T), JoinError>) -> Option<News<K, T>> {
        let id = match &joined {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let key = self.keys.remove(&id)?;
        let life = self.lives.get_mut(&key).filter(|life| life.task.id() == id)?;
        match joined {
            Ok((_, output)) => {
                self.lives.remove(&key);
                Some(News::Ended(key, output))
            }
            Err(error) => {
                let panic = error.try_into_panic().ok()?;
                life.backoff.ended_after(life.since.elapsed());
                let pause = life.backoff.next();
                self.resting.insert(key.clone(), Instant::now() + pause);
                Some(News::Died(Death { key, words: words(panic.as_ref()), pause }))
            }
        }
    }
}

// === impl News ===

impl<K, T> News<K, T> {
    fn key(&self) -> &K {
        match self {
            Self::Ended(key, _) | Self::Due(key) => key,
            Self::Died(death) => &death.key,
        }
    }
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use futures::future::{lazy, ready};

    use super::*;

    const HASTE: BackoffConfig = BackoffConfig {
        base: Duration::from_millis(20),
        multiplier: 2.0,
        jitter: 0.0,
        max: Duration::from_millis(80),
    };

    fn dies() -> impl Future<Output = ()> {
        lazy(|_| panic!("not this again"))
    }

    async fn death(tasks: &mut Attended<&'static str, ()>) -> Death<&'static str> {
        match tasks.next().await {
            News::Died(death) => death,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn what_dies_is_told_by_name_and_due_again_after_growing_pauses() {
        let mut tasks = Attended::with_pace(HASTE);
        tasks.start("steady", pending());
        for pause in [20, 40, 80, 80].map(Duration::from_millis) {
            tasks.start("bad", dies());
            let death = death(&mut tasks).await;
            assert_eq!(death, Death { key: "bad", words: "not this again".into(), pause });
            assert!(tasks.rests(&"bad") && !tasks.rests(&"steady"));
            let died = Instant::now();
            assert_eq!(tasks.next().await, News::Due("bad"));
            assert!(died.elapsed() + Duration::from_millis(5) >= pause);
        }
        assert_eq!(tasks.tasks.len(), 1, "the other one has felt nothing");
    }

    #[tokio::test]
    async fn what_is_stopped_is_neither_told_nor_due() {
        let mut tasks = Attended::with_pace(HASTE);
        tasks.start("resting", dies());
        death(&mut tasks).await;
        tasks.stop(&"resting").await;
        tasks.start("running", pending());
        // One ends and another one dies while somebody waits for a third.
        tasks.start("ends", ready(()));
        tasks.start("dies", dies());
        tasks.start("forgotten", dies());
        tokio::task::yield_now().await;
        tasks.stop(&"running").await;
        tasks.stop(&"forgotten").await;
        let told = [tasks.next().await, tasks.next().await];
        assert!(told.contains(&News::Ended("ends", ())), "{told:?}");
        assert!(told.iter().any(|news| matches!(news, News::Died(death) if death.key == "dies")), "{told:?}");
        assert_eq!(tasks.next().await, News::Due("dies"));
        assert!(tasks.lives.keys().eq([&"dies"]) && tasks.tasks.is_empty());
    }
}
