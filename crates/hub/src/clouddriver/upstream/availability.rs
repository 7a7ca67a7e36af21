//! Recent failures of the upstream Clouddriver, so that requests do not wait for it each time.

use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use super::client::UpstreamError;

/// Pause after a failure: without it, every reader of the hub's own accounts would wait for the upstream.
const PAUSE: Duration = Duration::from_secs(5);

/// Recent failures, of the upstream as a whole and by path.
#[derive(Debug, Default)]
pub(super) struct Availability(Mutex<RecentFailures>);

#[derive(Debug, Default)]
struct RecentFailures {
    /// Time of the last response to any request.
    last_response: Option<Instant>,
    /// Last failure, if there was no response to any request since.
    failure: Option<(Instant, UpstreamError)>,
    /// Last failure by path: one slow path says nothing about the others.
    paths: HashMap<String, (Instant, UpstreamError)>,
}

// === impl Availability ===

impl Availability {
    /// Recent failure because of which a path is not requested now.
    pub(super) fn recent_failure(&self, path: &str, now: Instant) -> Option<UpstreamError> {
        let failures = self.0.lock();
        let lately = |(at, why): &(Instant, UpstreamError)| (now - *at < PAUSE).then(|| why.clone());
        failures.failure.as_ref().and_then(lately).or_else(|| failures.paths.get(path).and_then(lately))
    }

    /// Records a response for a path.
    pub(super) fn responded(&self, path: &str, now: Instant) {
        let mut failures = self.0.lock();
        failures.last_response = Some(now);
        failures.paths.remove(path);
        if failures.failure.take().is_some() {
            info!("the upstream Clouddriver answers again");
        }
    }

    /// Records that a request sent at `sent` failed, and logs the first such failure. If the upstream responded to
    /// another request since, only the path counts as failed.
    pub(super) fn failed(&self, path: &str, why: &UpstreamError, sent: Instant, now: Instant) {
        let mut failures = self.0.lock();
        failures.paths.retain(|_, (at, _)| now - *at < PAUSE);
        let is_known = failures.paths.insert(path.to_owned(), (now, why.clone())).is_some();
        if failures.last_response.is_some_and(|at| at >= sent) {
            if !is_known {
                warn!(
                    path,
                    "{why}, though it answers other requests; responses to this one lack its part and are marked as stale"
                );
            }
        } else if failures.failure.replace((now, why.clone())).is_none() {
            warn!(path, "{why}; responses lack its part and are marked as stale");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_upstream_is_requested_again_after_a_pause() {
        let (availability, now) = (Availability::default(), Instant::now());
        let slow = UpstreamError::Timeout(PAUSE);
        availability.failed("/search", &slow, now, now);
        assert_eq!(availability.recent_failure("/search", now), Some(slow.clone()));
        assert_eq!(
            availability.recent_failure("/applications", now),
            Some(slow),
            "all paths may be affected"
        );
        assert_eq!(availability.recent_failure("/search", now + PAUSE), None);
    }

    #[test]
    fn a_slow_path_does_not_pause_the_others() {
        let (availability, sent) = (Availability::default(), Instant::now());
        let (slow, now) = (UpstreamError::Timeout(PAUSE), sent + PAUSE);
        availability.responded("/credentials", sent + PAUSE / 2);
        availability.failed("/search", &slow, sent, now);
        assert_eq!(availability.recent_failure("/applications", now), None, "it responded meanwhile");
        assert_eq!(availability.recent_failure("/search", now), Some(slow.clone()));
        availability.responded("/search", now);
        assert_eq!(availability.recent_failure("/search", now), None);

        availability.failed("/search", &slow, now + PAUSE, now + PAUSE);
        assert_eq!(
            availability.recent_failure("/applications", now + PAUSE),
            Some(slow),
            "the response was long before"
        );
        availability.responded("/credentials", now + PAUSE);
        assert_eq!(availability.recent_failure("/applications", now + PAUSE), None);
    }
}
