//! What is known of the Clouddriver's state: whether it lately kept us waiting, and what it said before.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::client::Silence;

/// Who kept us waiting is not waited for again so soon: readers of our accounts would wait each time.
const PAUSE: Duration = Duration::from_secs(5);
/// Answers that are remembered: two polled lists, with a query or two each.
const REMEMBERED: usize = 8;

/// The state of the Clouddriver.
#[derive(Debug)]
pub(super) struct Conditions {
    waits: Mutex<Waits>,
    said: Mutex<HashMap<String, (Instant, Bytes)>>,
    remember: Duration,
}

#[derive(Debug, Default)]
struct Waits {
    /// It did not answer, and has not answered anything since.
    silent: Option<(Instant, Silence)>,
    /// The paths for which it did not answer: one that takes too long says nothing about another.
    paths: HashMap<String, (Instant, Silence)>,
}

// === impl Conditions ===

impl Conditions {
    pub(super) fn new(remember: Duration) -> Self {
        Self { waits: Mutex::default(), said: Mutex::default(), remember }
    }

    /// Why it is not asked for a path now, if it is not.
    pub(super) fn pause(&self, path: &str, now: Instant) -> Option<Silence> {
        let waits = self.waits.lock();
        let lately = |(at, why): &(Instant, Silence)| (now - *at < PAUSE).then(|| why.clone());
        waits.silent.as_ref().and_then(lately).or_else(|| waits.paths.get(path).and_then(lately))
    }

    /// It has answered something for a path.
    pub(super) fn answered(&self, path: &str) {
        let mut waits = self.waits.lock();
        waits.paths.remove(path);
        if waits.silent.take().is_some() {
            info!("the upstream Clouddriver answers again");
        }
    }

    /// It did not answer; the operator is told once.
    pub(super) fn silent(&self, path: &str, why: &Silence, now: Instant) {
        let mut waits = self.waits.lock();
        waits.paths.retain(|_, (at, _)| now - *at < PAUSE);
        waits.paths.insert(path.to_owned(), (now, why.clone()));
        if waits.silent.replace((now, why.clone())).is_none() {
            warn!(path, "{why}; answers lack its part, and say so");
        }
    }

    /// What it says to a question that is asked all the time is kept.
    pub(super) fn remember(&self, question: &str, body: &Bytes, now: Instant) {
        if self.remember.is_zero() {
            return;
        }
        let mut said = self.said.lock();
        if said.len() >= REMEMBERED && !said.contains_key(question) {
            said.clear();
        }
        said.insert(question.to_owned(), (now, body.clone()));
    }

    /// What it last said to a question.
    pub(super) fn recall(&self, question: &str, now: Instant) -> Option<Bytes> {
        let said = self.said.lock();
        said.get(question).filter(|(at, _)| now - *at < self.remember).map(|(_, body)| body.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_hangs_is_asked_again_after_a_pause() {
        let (conditions, now) = (Conditions::new(Duration::ZERO), Instant::now());
        let slow = Silence::Slow(PAUSE);
        conditions.silent("/search", &slow, now);
        assert_eq!(conditions.pause("/search", now), Some(slow.clone()));
        assert_eq!(conditions.pause("/applications", now), Some(slow), "it may all be the same");
        assert_eq!(conditions.pause("/search", now + PAUSE), None);
    }

    #[test]
    fn who_is_slow_for_one_path_is_asked_for_the_others() {
        let (conditions, now) = (Conditions::new(Duration::ZERO), Instant::now());
        let slow = Silence::Slow(PAUSE);
        conditions.silent("/search", &slow, now);
        conditions.answered("/credentials");
        assert_eq!(conditions.pause("/applications", now), None);
        assert_eq!(conditions.pause("/search", now), Some(slow));
        conditions.answered("/search");
        assert_eq!(conditions.pause("/search", now), None);
    }

    #[test]
    fn what_was_said_is_remembered_for_a_while() {
        let (minute, now) = (Duration::from_mins(1), Instant::now());
        let (conditions, said) = (Conditions::new(minute), Bytes::from_static(b"[]"));
        conditions.remember("/credentials", &said, now);
        assert_eq!(conditions.recall("/credentials", now), Some(said.clone()));
        assert_eq!(conditions.recall("/credentials?expand=true", now), None, "it is another question");
        assert_eq!(conditions.recall("/credentials", now + minute), None);
        let never = Conditions::new(Duration::ZERO);
        never.remember("/credentials", &said, now);
        assert_eq!(never.recall("/credentials", now), None);
    }
}
