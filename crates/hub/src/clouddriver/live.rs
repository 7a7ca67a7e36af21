//! Live calls: a verb sent to an agent of an account, and its whole answer.

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

/// The longest answer. It is put together in memory, and becomes several times as large there if it is parsed; the list
/// of a namespace with 10,000 replica sets has some 40 MiB.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

/// The clusters themselves, by way of their agents.
#[derive(Debug, Clone)]
pub struct Live {
    dispatch: Dispatch,
    /// How long a read is tried again that the hub itself does not take on.
    patience: Duration,
}

/// How long it is waited before the hub is asked again that did not take something on.
pub(super) const AGAIN: BackoffConfig = BackoffConfig {
    base: Duration::from_millis(500),
    multiplier: 2.0,
    jitter: 0.2,
    max: Duration::from_secs(10),
};

/// What came of a verb.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The API server's HTTP status.
    pub code: u16,
    pub content: Content,
    pub body: Bytes,
}

// === impl Live ===

impl Live {
    pub fn new(dispatch: Dispatch) -> Self {
        Self { dispatch, patience: Duration::ZERO }
    }

    /// The same for who rather waits than hears that the hub has too much to do, or its store does not answer.
    #[must_use]
    pub(super) fn patient(&self, patience: Duration) -> Self {
        Self { patience, ..self.clone() }
    }

    /// One verb. With an id of the caller's own, what was asked before is not done again, and answered the same.
    pub async fn call(
        &self,
        account: &AccountName,
        verb: Verb,
        id: Option<OperationId>,
        deadline: Option<Duration>,
    ) -> Result<Answer, OperationError> {
        let give_up = Instant::now() + self.patience;
        let mut again = Backoff::new(AGAIN);
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
    ) -> Result<Answer, OperationError> {
        let request = OperationRequest::new(id, account.clone(), verb).within(deadline).kept(id.is_some());
        let mut running = self.dispatch.submit(request).await?;
        let mut body = BytesMut::new();
        while let Some(event) = running.next().await {
            match event {
                Event::Piece(_, bytes) => add(&mut body, &bytes)?,
                Event::Ended(content, ending) => {
                    return match ending.outcome {
                        Outcome::Succeeded { code } => Ok(Answer { code, content, body: body.freeze() }),
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

    /// One object, if there is one. That there is no such kind or account is another matter.
    pub async fn get(&self, account: &AccountName, get: Get) -> Result<Option<Value>, OperationError> {
        match self.call(account, Verb::Get(get), None, None).await {
            Ok(answer) => answer.json().map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The objects that a list has.
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

    /// What a container has written.
    pub async fn logs(&self, account: &AccountName, logs: Logs) -> Result<String, OperationError> {
        let answer = self.call(account, Verb::Logs(logs), None, None).await?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }
}

/// The next piece of an answer, unless it gets too long: then it is given up, and nothing is lost. What changes something
/// never answers so much.
fn add(body: &mut BytesMut, piece: &[u8]) -> Result<(), OperationError> {
    if body.len() + piece.len() > LARGEST_ANSWER {
        let message = format!("the answer is longer than {} MiB", LARGEST_ANSWER / 1024 / 1024);
        return Err(OperationError::hub(ErrorKind::BadAnswer, message));
    }
    body.extend_from_slice(piece);
    Ok(())
}

// === impl Answer ===

impl Answer {
    /// The document that it is.
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
    fn an_answer_that_is_too_long_is_given_up() {
        let mut body = BytesMut::zeroed(LARGEST_ANSWER - 1);
        add(&mut body, b"x").unwrap();
        let error = add(&mut body, b"x").unwrap_err();
        assert!(!error.is_not_found() && error.to_string().contains("longer than 64 MiB"), "{error}");
        assert_eq!(body.len(), LARGEST_ANSWER);
    }
}
