//! Which calls are made again when they fail (`kubernetes.retries`): those that change nothing, and those that change
//! something only if it is still as it was.

use std::time::Duration;

use spindrift_kubernetes::{ApiError, Call, Reply};
use spindrift_process::report;
use tokio::time::{Instant, sleep};
use tracing::warn;

use super::Hand;
use crate::config::Retries;

/// What is left of the patience for one call.
pub struct Attempts<'a> {
    hand: &'a Hand,
    failures: u32,
}

// === impl Hand ===

impl Hand {
    /// Asks for something, and asks again if that fails in a way that passes.
    pub async fn read(&self, call: &Call) -> Result<Reply, ApiError> {
        self.repeat(call).await
    }

    /// Changes something, once: without an answer, nobody knows whether it was changed ([`super::Failure::of_mutation`]).
    pub async fn change(&self, call: &Call) -> Result<Reply, ApiError> {
        self.once(call).await
    }

    /// Changes something under a precondition (a resource version, a uid, a name that must be free), so that a second
    /// call cannot have a second effect; makes it again if it fails in a way that passes.
    ///
    /// What the first call did shows as a conflict with itself: the caller has to look.
    pub async fn change_guarded(&self, call: &Call) -> Result<Reply, ApiError> {
        self.repeat(call).await
    }

    /// Counts the failures of something that may be done again.
    pub fn attempts(&self) -> Attempts<'_> {
        Attempts { hand: self, failures: 0 }
    }

    async fn repeat(&self, call: &Call) -> Result<Reply, ApiError> {
        let mut attempts = self.attempts();
        loop {
            match self.once(call).await {
                Ok(reply) => return Ok(reply),
                Err(error) => attempts.after(error).await?,
            }
        }
    }

    async fn once(&self, call: &Call) -> Result<Reply, ApiError> {
        self.metrics.kubernetes_requests.inc();
        self.api().call(call, self.deadline.min(Instant::now() + self.api().request_timeout())).await
    }
}

// === impl Attempts ===

impl Attempts<'_> {
    /// Waits for the next attempt; gives the error back if there is none.
    pub async fn after(&mut self, error: ApiError) -> Result<(), ApiError> {
        if self.again(&error).await { Ok(()) } else { Err(error) }
    }

    /// Whether there is another attempt after this error; waits for it.
    pub async fn again(&mut self, error: &ApiError) -> bool {
        let Self { hand, failures } = self;
        *failures += 1;
        let Some(pause) = hand.retries.pause(*failures, error) else { return false };
        if Instant::now() + pause >= hand.deadline || hand.cancelled.is_cancelled() {
            return false;
        }
        warn!(operationId = %hand.operation, account = %hand.account.description.name, error = %report(error),
            retry_in = ?pause, "a request failed and is made again");
        // Who is called off meanwhile does not try again.
        hand.cancelled.run_until_cancelled(sleep(pause)).await.is_some()
    }
}

// === impl Retries ===

impl Retries {
    /// How long to wait after so many failures, the last of which is this one; none if that was the last.
    pub fn pause(&self, failures: u32, error: &ApiError) -> Option<Duration> {
        if !self.enabled || failures > self.max_retries || !self.is_retryable(error) {
            return None;
        }
        Some(error.retry_after().unwrap_or(Duration::from_millis(self.back_off_ms)))
    }

    fn is_retryable(&self, error: &ApiError) -> bool {
        if self.retry_any_error {
            return true;
        }
        // The API server asks for it itself, before it has done anything.
        let is_put_off = error.status().is_some_and(|status| matches!(status.code, 429 | 503));
        let text = match error {
            // In the words of the original, which users have in their configuration.
            ApiError::TimedOut { .. } => format!("timeout: context deadline exceeded: {}", report(error)),
            _ => report(error),
        };
        is_put_off && error.retry_after().is_some()
            || self.retryable_errors.iter().any(|part| !part.is_empty() && contains(&text, part))
    }
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

#[cfg(test)]
mod tests {
    use spindrift_kubernetes::Status;

    use super::*;

    fn refused(code: u16, message: &str, retry_after: Option<u64>) -> ApiError {
        let source = Status {
            code,
            message: message.into(),
            retry_after: retry_after.map(Duration::from_secs),
            ..Status::default()
        };
        ApiError::Refused { request: "GET /x".into(), source: source.into() }
    }

    #[test]
    fn what_passes_is_tried_again_as_configured() {
        let retries = Retries::default();
        let pause =
            |failures, error: &ApiError| retries.pause(failures, error).map(|pause| pause.as_millis());
        let slow = ApiError::TimedOut { request: "GET /x".into(), limit: Duration::from_secs(1) };
        assert_eq!(pause(1, &slow), Some(3000));
        assert_eq!(pause(3, &slow), Some(3000));
        assert_eq!(pause(4, &slow), None, "maxRetries is 3");
        assert_eq!(pause(1, &refused(500, "Timeout: the server was slow", None)), Some(3000));
        assert_eq!(pause(1, &refused(404, "not found", None)), None);
        assert_eq!(pause(1, &refused(429, "too many requests", Some(1))), Some(1000), "as the server asks");
        let any = Retries { retry_any_error: true, ..Retries::default() };
        assert!(any.pause(1, &refused(404, "not found", None)).is_some());
        let off = Retries { enabled: false, ..any };
        assert!(off.pause(1, &slow).is_none());
    }
}
