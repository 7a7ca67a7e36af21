//! Retries of failed calls (`kubernetes.retries`): of those that change nothing, and of those whose precondition prevents a
//! second effect.

use std::time::Duration;

use spindrift_kubernetes::{ApiError, Call, Reply};
use spindrift_process::report;
use tokio::time::{Instant, sleep};
use tracing::warn;

use super::OperationContext;
use crate::config::Retries;

/// Attempts at one call.
pub struct Attempts<'a> {
    context: &'a OperationContext,
    failures: u32,
}

// === impl OperationContext ===

impl OperationContext {
    /// Makes a call that changes nothing; retries transient errors.
    pub async fn read(&self, call: &Call) -> Result<Reply, ApiError> {
        self.repeat(call).await
    }

    /// Makes a change, once: without an answer, the outcome is unknown ([`super::errors::of_change`]).
    pub async fn change(&self, call: &Call) -> Result<Reply, ApiError> {
        self.once(call).await
    }

    /// Makes a change under a precondition (a resource version, a uid, a name that must be free), so that a second call
    /// cannot have a second effect; retries transient errors.
    ///
    /// The effect of the first call may appear as a conflict: the caller has to check.
    pub async fn change_guarded(&self, call: &Call) -> Result<Reply, ApiError> {
        self.repeat(call).await
    }

    /// Counts the failures of a call that may be retried.
    pub fn attempts(&self) -> Attempts<'_> {
        Attempts { context: self, failures: 0 }
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
    /// Waits for the next attempt; returns the error if there is none.
    pub async fn after(&mut self, error: ApiError) -> Result<(), ApiError> {
        if self.again(&error).await { Ok(()) } else { Err(error) }
    }

    /// Waits for the next attempt after this error; false if there is none.
    pub async fn again(&mut self, error: &ApiError) -> bool {
        let Self { context, failures } = self;
        *failures += 1;
        let Some(pause) = context.retries.pause(*failures, error) else { return false };
        if Instant::now() + pause >= context.deadline || context.cancelled.is_cancelled() {
            return false;
        }
        warn!(operationId = %context.operation, account = %context.account.description.name, error = %report(error),
            retry_in = ?pause, "a request failed, retrying");
        // A cancelled operation does not retry.
        context.cancelled.run_until_cancelled(sleep(pause)).await.is_some()
    }
}

// === impl Retries ===

impl Retries {
    /// Pause after so many failures, the last of which is this error; none if there is no further attempt.
    pub fn pause(&self, failures: u32, error: &ApiError) -> Option<Duration> {
        if !self.enabled || failures > self.max_retries || !self.is_retryable(error) {
            return None;
        }
        Some(error.retry_after().unwrap_or(Duration::from_millis(self.back_off_ms)))
    }

    fn is_retryable(&self, error: &ApiError) -> bool {
        if matches!(error, ApiError::InvalidPath { .. }) {
            return false;
        }
        if self.retry_any_error {
            return true;
        }
        // The API server requests a retry itself, before it has done anything.
        let is_put_off = error.status().is_some_and(|status| matches!(status.code, 429 | 503));
        let text = match error {
            // In the words of the original agent, which users have in their configuration.
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
    fn transient_errors_are_retried_as_configured() {
        let retries = Retries::default();
        let pause =
            |failures, error: &ApiError| retries.pause(failures, error).map(|pause| pause.as_millis());
        let slow = ApiError::TimedOut { request: "GET /x".into(), limit: Duration::from_secs(1) };
        assert_eq!(pause(1, &slow), Some(3000));
        assert_eq!(pause(3, &slow), Some(3000));
        assert_eq!(pause(4, &slow), None, "maxRetries is 3");
        assert_eq!(pause(1, &refused(500, "Timeout: the server was slow", None)), Some(3000));
        assert_eq!(pause(1, &refused(404, "not found", None)), None);
        assert_eq!(
            pause(1, &refused(429, "too many requests", Some(1))),
            Some(1000),
            "as the server requests"
        );
        let any = Retries { retry_any_error: true, ..Retries::default() };
        assert!(any.pause(1, &refused(404, "not found", None)).is_some());
        let off = Retries { enabled: false, ..any };
        assert!(off.pause(1, &slow).is_none());
    }
}
