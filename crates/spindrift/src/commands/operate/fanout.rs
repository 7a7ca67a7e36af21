//! Runs a command in several accounts in parallel, and cancels its operations at Ctrl-C.

use std::{cell::RefCell, collections::BTreeMap, fmt, pin::pin, rc::Rc, time::Duration};

use futures::{StreamExt, TryStreamExt, future::join_all, stream};
use serde::de::DeserializeOwned;
use spindrift_model::{KubectlAction, OperationId, Status, Verb};

use super::display::{AccountLine, DisplayMode, ProgressDisplay};
use crate::{
    commands::{AlreadyReported, Context, ExitWith},
    hub::{Client, HubError, OperationRequest, OperationResponse, SubmitError},
};

/// Submits operations to the hub and tracks the pending ones.
pub(crate) struct AccountFanout<'a> {
    hub: Client,
    context: &'a Context,
    pending: PendingOperations,
}

/// Operations without a complete response.
type PendingOperations = Rc<RefCell<BTreeMap<OperationId, PendingOperation>>>;

#[derive(Debug, Clone)]
struct PendingOperation {
    account: String,
    /// Set if the operation changes objects.
    is_mutation: bool,
}

/// Response of an operation, which is pending until this is dropped.
pub(crate) struct OperationReply {
    response: OperationResponse,
    hub: Client,
    id: OperationId,
    pending: PendingOperations,
}

/// Error of an operation, as shown to the user.
#[derive(Debug)]
pub(crate) enum OperationError {
    Status(Box<Status>),
    Other(String),
}

/// Accounts in parallel: about as many as a screen has lines.
const MAX_CONCURRENT: usize = 16;
/// Timeout of a cancel request after Ctrl-C.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(3);
const INTERRUPTED: u8 = 130;

// === impl AccountFanout ===

impl<'a> AccountFanout<'a> {
    pub(crate) fn new(context: &'a Context) -> anyhow::Result<Self> {
        Ok(Self { hub: context.hub()?, context, pending: PendingOperations::default() })
    }

    pub(crate) fn hub(&self) -> &Client {
        &self.hub
    }

    /// Submits an operation to an account.
    pub(crate) async fn submit(
        &self,
        account: &str,
        verb: &Verb,
        deadline: Option<Duration>,
    ) -> Result<OperationReply, OperationError> {
        let id = OperationId::fresh();
        let operation = PendingOperation { account: account.to_owned(), is_mutation: verb.is_mutation() };
        self.pending.borrow_mut().insert(id, operation);
        let response = self.hub.operate(&OperationRequest { id, account, verb, deadline }).await;
        match response {
            Ok(response) => {
                Ok(OperationReply { response, hub: self.hub.clone(), id, pending: Rc::clone(&self.pending) })
            }
            Err(error) => {
                self.pending.borrow_mut().remove(&id);
                Err(OperationError::of(error, id, verb))
            }
        }
    }

    /// Runs the work in all accounts, and reports at the end in how many it failed.
    pub(crate) async fn run(
        &self,
        accounts: &[String],
        view: DisplayMode,
        work: impl AsyncFn(&AccountLine) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let display = ProgressDisplay::new(accounts, view, self.context);
        let each = stream::iter(accounts).map(|account| {
            let (line, work) = (display.line(account), &work);
            async move {
                work(&line).await?;
                line.finish()?;
                anyhow::Ok(line.has_failed())
            }
        });
        let failed = each
            .buffer_unordered(MAX_CONCURRENT)
            .try_fold(0, async |failed, has_failed| Ok(failed + usize::from(has_failed)));
        match self.until_interrupted(failed, &display).await? {
            0 => Ok(()),
            failed => {
                if accounts.len() > 1 {
                    eprintln!("error: failed in {failed} of {} accounts", accounts.len());
                }
                Err(AlreadyReported.into())
            }
        }
    }

    /// Stops the work at Ctrl-C, and cancels its pending operations.
    async fn until_interrupted<T>(
        &self,
        work: impl Future<Output = anyhow::Result<T>>,
        display: &ProgressDisplay,
    ) -> anyhow::Result<T> {
        let mut work = pin!(work);
        tokio::select! {
            done = &mut work => done,
            _ = tokio::signal::ctrl_c() => {
                display.hide();
                self.cancel_pending().await;
                Err(ExitWith(INTERRUPTED).into())
            }
        }
    }

    async fn cancel_pending(&self) {
        let pending = self.pending.borrow().clone();
        let each = pending.iter().map(async |(id, PendingOperation { account, is_mutation })| {
            let id = id.to_string();
            let cancelled = tokio::time::timeout(CANCEL_TIMEOUT, self.hub.cancel(&id)).await;
            if !is_mutation {
                return;
            }
            // Only the agent can report whether the cancel request was too late.
            let result = if matches!(cancelled, Ok(Ok(()))) { "cancelled" } else { "could not be cancelled" };
            self.context
                .note(format_args!("{account}: {result}; for the outcome, see: spindrift operations {id}"));
        });
        join_all(each).await;
    }
}

// === impl OperationReply ===

impl OperationReply {
    /// Next bytes, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, OperationError> {
        match self.response.next().await {
            Ok(bytes) => Ok(bytes),
            Err(error) => Err(self.interruption_cause(error).await),
        }
    }

    /// Passes complete lines as they arrive, without their line ends.
    pub(crate) async fn lines(
        &mut self,
        mut take: impl FnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Result<(), OperationError>> {
        let mut unread = Vec::new();
        loop {
            let bytes = match self.next().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                Err(error) => return Ok(Err(error)),
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

    /// Reads the whole response as one JSON document.
    pub(crate) async fn json<T: DeserializeOwned>(mut self) -> Result<T, OperationError> {
        let mut body = Vec::new();
        while let Some(bytes) = self.next().await? {
            body.extend_from_slice(&bytes);
        }
        serde_json::from_slice(&body).map_err(|error| {
            OperationError::Other(format!(
                "error: cannot parse the response ({error}); compare the versions: spindrift version"
            ))
        })
    }

    /// Reads the reason of an interrupted response from the record of the operation.
    async fn interruption_cause(&self, error: HubError) -> OperationError {
        let record = self.hub.operation(&self.id.to_string()).await.ok();
        let status = record.as_ref().and_then(|record| record.status.clone());
        if let Some(status) = status.and_then(|status| serde_json::from_value::<Status>(status).ok())
            && !status.message.is_empty()
        {
            return OperationError::Status(Box::new(status));
        }
        match record.and_then(|record| record.reason) {
            Some(reason) => OperationError::Other(format!("error: {reason}")),
            None => OperationError::Other(format!("error: {error}")),
        }
    }
}

impl Drop for OperationReply {
    fn drop(&mut self) {
        self.pending.borrow_mut().remove(&self.id);
    }
}

// === impl OperationError ===

impl OperationError {
    /// If the hub may have received the operation, its outcome is unknown.
    fn of(error: SubmitError, id: OperationId, verb: &Verb) -> Self {
        match error {
            SubmitError::Status(status) => Self::Status(status),
            SubmitError::Hub(error) if verb.is_mutation() && error.may_have_been_received() => Self::Other(
                format!("error: {error}; outcome unknown: see spindrift operations {id} before you retry"),
            ),
            SubmitError::Hub(error) => Self::Other(format!("error: {error}")),
        }
    }

    /// Warnings of the API server, printed before the error.
    pub(crate) fn warnings(&self) -> &[String] {
        match self {
            Self::Status(status) => status.warnings(),
            Self::Other(_) => &[],
        }
    }

    /// Adds the action and the file to the error.
    pub(crate) fn about(self, action: KubectlAction, source: Option<&str>) -> Self {
        match (self, source) {
            (Self::Status(status), Some(source)) => Self::Status(Box::new(status.about(action, source))),
            (other, _) => other,
        }
    }

    pub(crate) fn is(&self, reason: &str) -> bool {
        matches!(self, Self::Status(status) if status.reason == reason)
    }
}

impl fmt::Display for OperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => status.fmt(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}
