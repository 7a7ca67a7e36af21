//! What is known of the Clouddriver's state: whether it lately kept us waiting.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::client::Silence;

/// Who kept us waiting is not waited for again so soon: readers of our accounts would wait each time.
const PAUSE: Duration = Duration::from_secs(5);

/// The state of the Clouddriver.
#[derive(Debug, Default)]
pub(super) struct Conditions(Mutex<Waits>);

#[derive(Debug, Default)]
struct Waits {
    /// When it last answered anything.
    answered: Option<Instant>,
    /// It did not answer, and has not answered anything since it was asked.
    silent: Option<(Instant, Silence)>,
    /// The paths for which it did not answer: one that takes too long says nothing about another.
    paths: HashMap<String, (Instant, Silence)>,
}

// === impl Conditions ===

impl Conditions {
    /// Why it is not asked for a path now, if it is not.
    pub(super) fn pause(&self, path: &str, now: Instant) -> Option<Silence> {
        let waits = self.0.lock();
        let lately = |(at, why): &(Instant, Silence)| (now - *at < PAUSE).then(|| why.clone());
        waits.silent.as_ref().and_then(lately).or_else(|| waits.paths.get(path).and_then(lately))
    }

    /// It has answered something for a path.
    pub(super) fn answered(&self, path: &str, now: Instant) {
        let mut waits = self.0.lock();
        waits.answered = Some(now);
        waits.paths.remove(path);
        if waits.silent.take().is_some() {
            info!("the upstream Clouddriver answers again");
        }
    }

    /// It did not answer what it was asked at some time; the operator is told once. Where it has answered something
    /// else in the meantime, only the path is to blame.
    pub(super) fn silent(&self, path: &str, why: &Silence, asked: Instant, now: Instant) {
        let mut waits = self.0.lock();
        waits.paths.retain(|_, (at, _)| now - *at < PAUSE);
        let is_known = waits.paths.insert(path.to_owned(), (now, why.clone())).is_some();
        if waits.answered.is_some_and(|answered| answered >= asked) {
            if !is_known {
                warn!(
                    path,
                    "{why}, though it answers other questions; answers to this one lack its part, and say so"
                );
            }
        } else if waits.silent.replace((now, why.clone())).is_none() {
            warn!(path, "{why}; answers lack its part, and say so");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_hangs_is_asked_again_after_a_pause() {
        let (conditions, now) = (Conditions::default(), Instant::now());
        let slow = Silence::Slow(PAUSE);
        conditions.silent("/search", &slow, now, now);
        assert_eq!(conditions.pause("/search", now), Some(slow.clone()));
        assert_eq!(conditions.pause("/applications", now), Some(slow), "it may all be the same");
        assert_eq!(conditions.pause("/search", now + PAUSE), None);
    }

    #[test]
    fn who_is_slow_for_one_path_is_asked_for_the_others() {
        let (conditions, asked) = (Conditions::default(), Instant::now());
        let (slow, now) = (Silence::Slow(PAUSE), asked + PAUSE);
        conditions.answered("/credentials", asked + PAUSE / 2);
        conditions.silent("/search", &slow, asked, now);
        assert_eq!(conditions.pause("/applications", now), None, "it answered while it was asked");
        assert_eq!(conditions.pause("/search", now), Some(slow.clone()));
        conditions.answered("/search", now);
        assert_eq!(conditions.pause("/search", now), None);

        conditions.silent("/search", &slow, now + PAUSE, now + PAUSE);
        assert_eq!(conditions.pause("/applications", now + PAUSE), Some(slow), "that was long before");
        conditions.answered("/credentials", now + PAUSE);
        assert_eq!(conditions.pause("/applications", now + PAUSE), None);
    }
}
