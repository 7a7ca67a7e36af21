//! Live calls: a verb sent to an agent of an account, and its whole answer.

use std::{fmt, time::Duration};

use bytes::{Bytes, BytesMut};
use serde_json::Value;
use spindrift_model::{AccountName, Content, Ending, Get, List, Logs, OperationId, Outcome, Status, Verb};
use spindrift_process::backoff::{Backoff, BackoffConfig};
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::dispatch::{Dispatch, Event, Order, Refusal};

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

/// Why nothing came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The hub did not take it on, or no agent was there.
    Refused(Refusal),
    /// The API server, or the agent, said no.
    Failed(Box<Status>),
    /// It may or may not have been done: why nobody knows.
    Unknown(String),
    /// It was called off.
    Cancelled,
    /// Its time was over.
    Expired,
    /// The hub stops; the operation goes on, under its id.
    Stopping,
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
    ) -> Result<Answer, Trouble> {
        let give_up = Instant::now() + self.patience;
        let mut again = Backoff::new(AGAIN);
        loop {
            match self.try_once(account, verb.clone(), id, deadline).await {
                // Under an id of its own, whoever asks has to know which answers are last.
                Err(trouble) if id.is_none() && trouble.is_passing() && Instant::now() < give_up => {
                    warn!(%account, verb = verb.name(), %trouble, "a read was not taken on, and is tried again");
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
    ) -> Result<Answer, Trouble> {
        let order = Order { id, account: account.clone(), verb, deadline, keep: id.is_some() };
        let mut running = self.dispatch.submit(order).await.map_err(Trouble::Refused)?;
        let mut body = BytesMut::new();
        while let Some(event) = running.next().await {
            match event {
                Event::Piece(_, bytes) => add(&mut body, &bytes)?,
                Event::Ended(content, Ending { outcome: Outcome::Succeeded { code }, .. }) => {
                    return Ok(Answer { code, content, body: body.freeze() });
                }
                Event::Ended(_, ending) => return Err(ending.outcome.into()),
                Event::Forgotten(_) => {
                    return Err(Trouble::Unknown("it was done, and its answer is not kept any more".into()));
                }
            }
        }
        Err(Trouble::Stopping)
    }

    /// One object, if there is one. That there is no such kind or account is another matter.
    pub async fn get(&self, account: &AccountName, get: Get) -> Result<Option<Value>, Trouble> {
        match self.call(account, Verb::Get(get), None, None).await {
            Ok(answer) => answer.json().map(Some),
            Err(trouble) if trouble.is_not_found() => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// The objects that a list has.
    pub async fn list(&self, account: &AccountName, list: List) -> Result<Vec<Value>, Trouble> {
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
    pub async fn logs(&self, account: &AccountName, logs: Logs) -> Result<String, Trouble> {
        let answer = self.call(account, Verb::Logs(logs), None, None).await?;
        Ok(String::from_utf8_lossy(&answer.body).into_owned())
    }
}

/// The next piece of an answer, unless it gets too long: then it is given up, and nothing is lost. What changes something
/// never answers so much.
fn add(body: &mut BytesMut, piece: &[u8]) -> Result<(), Trouble> {
    if body.len() + piece.len() > LARGEST_ANSWER {
        let message = format!("the answer is longer than {} MiB", LARGEST_ANSWER / 1024 / 1024);
        return Err(Trouble::Failed(Box::new(Status::new(502, "BadGateway", message))));
    }
    body.extend_from_slice(piece);
    Ok(())
}

// === impl Answer ===

impl Answer {
    /// The document that it is.
    pub fn json(&self) -> Result<Value, Trouble> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let message = format!("the answer is not JSON: {error}");
            Trouble::Failed(Box::new(Status::new(502, "BadGateway", message)))
        })
    }
}

// === impl Trouble ===

impl Trouble {
    /// Whether the API server has no such object.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Failed(status) if status.code == 404 && status.is_of_api_server())
    }

    /// Whether the API server does not let the account do so.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Failed(status) if status.code == 403 && status.is_of_api_server())
    }

    /// Whether the hub itself said no, for a moment, and nothing was sent.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.is_passing(),
            Self::Failed(status) => Refusal::is_of_store(status),
            _ => false,
        }
    }

    /// Whether it is the last word on its id: what is not carried out under this one can be under another.
    pub fn uses_up_its_id(&self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// What kubectl would have written to its standard error.
    pub fn said(&self) -> String {
        format!("{self}\n")
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "error: {}", refusal.message),
            Self::Failed(status) => status.fmt(f),
            Self::Unknown(reason) => write!(f, "error: nobody knows whether it was done: {reason}"),
            Self::Cancelled => f.write_str("error: it was called off"),
            Self::Expired => f.write_str("error: its time was over before anything was changed"),
            Self::Stopping => f.write_str("error: the hub stops"),
        }
    }
}

impl From<Outcome> for Trouble {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Failed { code, status } => {
                let unread = || Status::new(code, "BadGateway", String::from_utf8_lossy(&status));
                Self::Failed(Box::new(Status::read(&status).unwrap_or_else(unread)))
            }
            Outcome::Unknown { reason } => Self::Unknown(reason),
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Expired => Self::Expired,
            Outcome::Succeeded { .. } => Self::Unknown("it was done".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_too_long_is_given_up() {
        let mut body = BytesMut::zeroed(LARGEST_ANSWER - 1);
        add(&mut body, b"x").unwrap();
        let trouble = add(&mut body, b"x").unwrap_err();
        assert!(!trouble.is_not_found() && trouble.to_string().contains("longer than 64 MiB"), "{trouble}");
        assert_eq!(body.len(), LARGEST_ANSWER);
    }
}
