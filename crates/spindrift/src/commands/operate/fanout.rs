//! Who asks the hub: in all accounts at once, and until Ctrl-C.

use std::{cell::RefCell, collections::BTreeMap, fmt, pin::pin, rc::Rc, time::Duration};

use futures::{StreamExt, TryStreamExt, future::join_all, stream};
use serde::de::DeserializeOwned;
use spindrift_model::{OperationId, Status, Verb};

use super::display::{Board, Line, View};
use crate::{
    commands::{Context, Ended, Reported},
    hub::{Answer, Client, HubError, Refusal, Request},
};

/// Asks, and remembers what was asked for and is not answered yet.
pub(crate) struct Crew<'a> {
    hub: Client,
    context: &'a Context,
    running: Running,
}

/// What is not answered yet, with its account.
type Running = Rc<RefCell<BTreeMap<OperationId, Asked>>>;

#[derive(Debug, Clone)]
struct Asked {
    account: String,
    /// Whether it may have changed something.
    is_mutation: bool,
}

/// An answer on its way; it counts as running until it is dropped.
pub(crate) struct Reply {
    answer: Answer,
    hub: Client,
    id: OperationId,
    running: Running,
}

/// Why something came to nothing, in the words that the user gets to see.
#[derive(Debug)]
pub(crate) enum Trouble {
    Status(Box<Status>),
    Other(String),
}

/// Accounts that are worked on at the same time: more than a screen has lines would help nobody.
const AT_ONCE: usize = 16;
/// How long a user who wants to leave waits for the hub.
const CALLING_OFF: Duration = Duration::from_secs(3);
const INTERRUPTED: u8 = 130;

// === impl Crew ===

impl<'a> Crew<'a> {
    pub(crate) fn new(context: &'a Context) -> anyhow::Result<Self> {
        Ok(Self { hub: context.hub()?, context, running: Running::default() })
    }

    pub(crate) fn hub(&self) -> &Client {
        &self.hub
    }

    /// Has something done in an account.
    pub(crate) async fn ask(
        &self,
        account: &str,
        verb: &Verb,
        deadline: Option<Duration>,
    ) -> Result<Reply, Trouble> {
        let id = OperationId::fresh();
        let asked = Asked { account: account.to_owned(), is_mutation: verb.is_mutation() };
        self.running.borrow_mut().insert(id, asked);
        let answer = self.hub.operate(&Request { id, account, verb, deadline }).await;
        match answer {
            Ok(answer) => Ok(Reply { answer, hub: self.hub.clone(), id, running: Rc::clone(&self.running) }),
            Err(refusal) => {
                self.running.borrow_mut().remove(&id);
                Err(Trouble::of(refusal, id, verb))
            }
        }
    }

    /// Works in all accounts, and says at the end in how many of several it failed.
    pub(crate) async fn everywhere(
        &self,
        accounts: &[String],
        view: View,
        work: impl AsyncFn(&Line) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let board = Board::new(accounts, view, self.context);
        let each = stream::iter(accounts).map(|account| {
            let (line, work) = (board.line(account), &work);
            async move {
                work(&line).await?;
                line.end()?;
                anyhow::Ok(line.has_failed())
            }
        });
        let failed = each
            .buffer_unordered(AT_ONCE)
            .try_fold(0, async |failed, has_failed| Ok(failed + usize::from(has_failed)));
        match self.until_interrupted(failed, &board).await? {
            0 => Ok(()),
            failed => {
                if accounts.len() > 1 {
                    eprintln!("error: failed in {failed} of {} accounts", accounts.len());
                }
                Err(Reported.into())
            }
        }
    }

    /// Ends the work at Ctrl-C, and calls off what was asked for.
    async fn until_interrupted<T>(
        &self,
        work: impl Future<Output = anyhow::Result<T>>,
        board: &Board,
    ) -> anyhow::Result<T> {
        let mut work = pin!(work);
        tokio::select! {
            done = &mut work => done,
            _ = tokio::signal::ctrl_c() => {
                board.hide();
                self.call_off().await;
                Err(Ended(INTERRUPTED).into())
            }
        }
    }

    async fn call_off(&self) {
        let running = self.running.borrow().clone();
        let each = running.iter().map(async |(id, Asked { account, is_mutation })| {
            let id = id.to_string();
            let called_off = tokio::time::timeout(CALLING_OFF, self.hub.cancel(&id)).await;
            if !is_mutation {
                return;
            }
            // Whether it was too late only the agent can tell.
            let said = if matches!(called_off, Ok(Ok(()))) { "cancelled" } else { "could not be cancelled" };
            let how = format!("see: spindrift operations {id}");
            self.context.note(format_args!("{account}: {said}; for the outcome, {how}"));
        });
        join_all(each).await;
    }
}

// === impl Reply ===

impl Reply {
    /// The next bytes; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Trouble> {
        match self.answer.next().await {
            Ok(bytes) => Ok(bytes),
            Err(error) => Err(self.why(error).await),
        }
    }

    /// Hands over whole lines as they come, without their ends.
    pub(crate) async fn lines(
        &mut self,
        mut take: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Result<(), Trouble>> {
        let mut unread = Vec::new();
        loop {
            let bytes = match self.next().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                Err(trouble) => return Ok(Err(trouble)),
            };
            unread.extend_from_slice(&bytes);
            let mut rest = &unread[..];
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                take(&rest[..end])?;
                rest = &rest[end + 1..];
            }
            unread = rest.to_vec();
        }
        if !unread.is_empty() {
            take(&unread)?;
        }
        Ok(Ok(()))
    }

    /// All of it, as one JSON document.
    pub(crate) async fn json<T: DeserializeOwned>(mut self) -> Result<T, Trouble> {
        let mut body = Vec::new();
        while let Some(bytes) = self.next().await? {
            body.extend_from_slice(&bytes);
        }
        serde_json::from_slice(&body).map_err(|error| {
            Trouble::Other(format!(
                "error: cannot parse the response ({error}); compare the versions: spindrift version"
            ))
        })
    }

    /// An answer that breaks off has no room left for the reason; the hub remembers it.
    async fn why(&self, error: HubError) -> Trouble {
        let record = self.hub.operation(&self.id.to_string()).await.ok();
        let status = record.as_ref().and_then(|record| record.status.clone());
        if let Some(status) = status.and_then(|status| serde_json::from_value::<Status>(status).ok())
            && !status.message.is_empty()
        {
            return Trouble::Status(Box::new(status));
        }
        match record.and_then(|record| record.reason) {
            Some(reason) => Trouble::Other(format!("error: {reason}")),
            None => Trouble::Other(format!("error: {error}")),
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.running.borrow_mut().remove(&self.id);
    }
}

// === impl Trouble ===

impl Trouble {
    /// A hub that was reached and did not answer may have had it done.
    fn of(refusal: Refusal, id: OperationId, verb: &Verb) -> Self {
        match refusal {
            Refusal::Status(status) => Self::Status(status),
            Refusal::Hub(error) if verb.is_mutation() && error.is_after_asking() => Self::Other(format!(
                "error: {error}; outcome unknown: see spindrift operations {id} before you retry"
            )),
            Refusal::Hub(error) => Self::Other(format!("error: {error}")),
        }
    }

    /// What the user is warned of before.
    pub(crate) fn warnings(&self) -> &[String] {
        match self {
            Self::Status(status) => status.warnings(),
            Self::Other(_) => &[],
        }
    }

    /// Says what was being done with which file.
    pub(crate) fn about(self, doing: &str, source: Option<&str>) -> Self {
        match (self, source) {
            (Self::Status(status), Some(source)) => Self::Status(Box::new(status.about(doing, source))),
            (other, _) => other,
        }
    }

    pub(crate) fn is(&self, reason: &str) -> bool {
        matches!(self, Self::Status(status) if status.reason == reason)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => status.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}
