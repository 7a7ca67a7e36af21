//! Live calls: sends a verb to an agent of an account and collects the whole response.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde_json::Value;
use spindrift_model::{
    AccountName, Content, ErrorKind, Get, List, Logs, OperationError, OperationId, Outcome, Verb,
};
use spindrift_process::backoff::{Backoff, BackoffConfig};
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::dispatch::{Dispatch, Event, OperationRequest};

/// Size of a response. It is collected in memory, and takes several times as much when it is parsed; the list of a
/// namespace with 10,000 replica sets has some 40 MiB.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

/// Live access to clusters through their agents.
#[derive(Debug, Clone)]
pub struct Live {
    dispatch: Dispatch,
    /// Duration for which a read that the hub does not accept is retried.
    retry_for: Duration,
}

/// Pause between two attempts at an operation that the hub does not accept.
pub(super) const RETRY: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(500),
    multiplier: 2.0,
    jitter: 0.2,
    max: Duration::from_secs(10),
};

/// Response to a verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveResponse {
    /// HTTP status of the API server.
    pub code: u16,
    pub content: Content,
    pub body: Bytes,
}

// === impl Live ===

impl Live {
    pub fn new(dispatch: Dispatch) -> Self {
        Self { dispatch, retry_for: Duration::ZERO }
    }

    /// Client that retries reads while the hub is overloaded or its store is unavailable.
    #[must_use]
    pub(super) fn retrying(&self, retry_for: Duration) -> Self {
        Self { retry_for, ..self.clone() }
    }

    /// Sends a verb. With an id of the caller, a repeated call does nothing again and returns the same response.
    pub async fn call(
        &self,
        account: &AccountName,
        verb: Verb,
        id: Option<OperationId>,
        deadline: Option<Duration>,
    ) -> Result<LiveResponse, OperationError> {
        let give_up = Instant::now() + self.retry_for;
        let mut again = Backoff::new(RETRY);
        loop {
            match self.try_once(account, verb.clone(), id, deadline).await {
                // A caller with an id of its own decides itself which errors are final.
                Err(error) if id.is_none() && error.kind.is_transient() && Instant::now() < give_up => {
                    warn!(%account, verb = verb.name(), %error, "a read was not accepted, retrying");
                    sleep(again.next()).await;
                }
                answer => return answer,
            }
        }
    }

    async fn try_once(
        &self,
        account: &AccountName,
        verb: Verb,
        id: Option<OperationId>,
        deadline: Option<Duration>,
    ) -> Result<LiveResponse, OperationError> {
        let request = OperationRequest::new(id, account.clone(), verb).within(deadline).kept(id.is_some());
        let mut running = self.dispatch.submit(request).await?;
        let mut body = BytesMut::new();
        while let Some(event) = running.next().await {
            match event {
                Event::Piece(_, bytes) => add(&mut body, &bytes)?,
                Event::Ended(content, ending) => {
                    return match ending.outcome {
                        Outcome::Succeeded { code } => {
                            Ok(LiveResponse { code, content, body: body.freeze() })
                        }
                        Outcome::Failed(error) => Err(error),
                    };
                }
                Event::Forgotten(_) => {
                    return Err(OperationError::unknown("it was done, and its answer is no longer stored"));
                }
            }
        }
        Err(OperationError::hub(ErrorKind::HubStopping, "the hub stops"))
    }

    /// Reads one object, if it exists. A kind or account that does not exist is an error.
    pub async fn get(&self, account: &AccountName, get: Get) -> Result<Option<Value>, OperationError> {
        match self.call(account, Verb::Get(get), None, None).await {
            Ok(answer) => answer.json().map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the items of a list.
    pub async fn list(&self, account: &AccountName, list: List) -> Result<Vec<Value>, OperationError> {
        let answer = self.call(account, Verb::List(list), None, None).await?;
        match answer.json()? {
            Value::Object(mut document) => match document.remove("items") {
                Some(Value::Array(items)) => Ok(items),
                _ => Ok(Vec::new()),
            },
            _ => Ok(Vec::new()),
        }
    }

    /// Reads the log of a container.
    pub async fn logs(&self, account: &AccountName, logs: Logs) -> Result<String, OperationError> {
        let answer = self.call(account, Verb::Logs(logs), None, None).await?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }
}

/// Appends a piece of a response, unless it gets too large. Only reads have responses of that size, so that nothing is lost.
fn add(body: &mut BytesMut, piece: &[u8]) -> Result<(), OperationError> {
    if body.len() + piece.len() > LARGEST_ANSWER {
        let message = format!("the answer is longer than {} MiB", LARGEST_ANSWER / 1024 / 1024);
        return Err(OperationError::hub(ErrorKind::BadAnswer, message));
    }
    body.extend_from_slice(piece);
    Ok(())
}

// === impl LiveResponse ===

impl LiveResponse {
    /// Parses the body.
    pub fn json(&self) -> Result<Value, OperationError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let message = format!("the answer is not JSON: {error}");
            OperationError::hub(ErrorKind::BadAnswer, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_that_is_too_large_is_an_error() {
        let mut body = BytesMut::zeroed(LARGEST_ANSWER - 1);
        add(&mut body, b"x").unwrap();
        let error = add(&mut body, b"x").unwrap_err();
        assert!(!error.is_not_found() && error.to_string().contains("longer than 64 MiB"), "{error}");
        assert_eq!(body.len(), LARGEST_ANSWER);
    }
}
