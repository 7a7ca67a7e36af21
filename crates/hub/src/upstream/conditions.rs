//! What is known of the Clouddriver's state: which lists it lately failed to give, and what it said before.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::{client::Silence, plan::List};

/// A list that was not given is not waited for again so soon: readers of our accounts would wait each time.
const PAUSE: Duration = Duration::from_secs(5);
/// Answers that are remembered: two polled lists, with a query or two each.
const REMEMBERED: usize = 8;

/// The state of the Clouddriver, list by list: one that takes too long says nothing about another.
#[derive(Debug)]
pub(super) struct Conditions {
    failed: Mutex<HashMap<List, (Instant, Silence)>>,
    said: Mutex<HashMap<String, (Instant, Bytes)>>,
    remember: Duration,
}

// === impl Conditions ===

impl Conditions {
    pub(super) fn new(remember: Duration) -> Self {
        Self { failed: Mutex::default(), said: Mutex::default(), remember }
    }

    /// Why a list is not asked for now, if it is not.
    pub(super) fn pause(&self, list: List, now: Instant) -> Option<Silence> {
        let failed = self.failed.lock();
        failed.get(&list).filter(|(at, _)| now - *at < PAUSE).map(|(_, why)| why.clone())
    }

    /// A list was given.
    pub(super) fn answered(&self, list: List, question: &str, body: &Bytes, now: Instant) {
        if self.failed.lock().remove(&list).is_some() {
            info!(?list, "the upstream Clouddriver answers again");
        }
        if list.is_polled() && !self.remember.is_zero() {
            let mut said = self.said.lock();
            if said.len() >= REMEMBERED && !said.contains_key(question) {
                said.clear();
            }
            said.insert(question.to_owned(), (now, body.clone()));
        }
    }

    /// A list was not given; the operator is told once.
    pub(super) fn failed(&self, list: List, why: &Silence, now: Instant) {
        if self.failed.lock().insert(list, (now, why.clone())).is_none() {
            warn!(?list, "{why}; answers lack its part, and say so");
        }
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
    fn a_list_that_failed_is_asked_for_again_after_a_pause_and_others_at_once() {
        let (conditions, now) = (Conditions::new(Duration::from_mins(1)), Instant::now());
        let slow = Silence::Slow(PAUSE);
        conditions.failed(List::Search, &slow, now);
        assert_eq!(
            (conditions.pause(List::Search, now), conditions.pause(List::Entries, now)),
            (Some(slow), None)
        );
        assert_eq!(conditions.pause(List::Search, now + PAUSE), None);
    }

    #[test]
    fn only_what_is_polled_is_remembered_and_only_for_a_while() {
        let (minute, now) = (Duration::from_mins(1), Instant::now());
        let conditions = Conditions::new(minute);
        let said = Bytes::from_static(b"[]");
        conditions.answered(List::Credentials, "/credentials", &said, now);
        conditions.answered(List::Search, "/search?q=a", &said, now);
        assert_eq!(conditions.recall("/credentials", now), Some(said));
        assert_eq!(conditions.recall("/search?q=a", now), None);
        assert_eq!(conditions.recall("/credentials", now + minute), None);
    }
}
