//! Execution of one operation, from arrival to outcome.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::FutureExt;
use spindrift_kubernetes::KindFreshness;
use spindrift_model::{
    AccountName, Ending, ErrorKind, FailedState, Operation, OperationError, Outcome, Verb,
};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use super::Shared;
use crate::{
    accounts::Account,
    operate::{
        Answer, OperationContext, errors,
        queue::QueuePosition,
        results::ResultWriter,
        target::{self, ResolvedTarget},
        verbs,
    },
};

/// Execution of one operation.
pub(super) struct Execution {
    pub(super) shared: Arc<Shared>,
    pub(super) account: Arc<Account>,
    pub(super) operation: Operation,
    pub(super) deadline: Instant,
    pub(super) cancelled: CancellationToken,
    pub(super) writer: ResultWriter,
}

/// Position among the changes of the account, until the target is resolved.
type Arrival = QueuePosition<AccountName>;

// === impl Execution ===

impl Execution {
    /// Executes the operation, and closes its result.
    pub(super) async fn run(self, arrival: Option<Arrival>) {
        let begun = Instant::now();
        let _listed = self.shared.running.enter(&self.operation);
        let done = self.perform(arrival).await;
        let took = begun.elapsed();
        let (outcome, rest) = match done {
            Ok(Answer { code, body }) => (Outcome::Succeeded { code }, body),
            Err(mut error) => {
                let context = error.context.take().map(|context| Bytes::from(context.to_json()));
                // A read that failed has no answer but its status, which would not come first.
                let context = context.filter(|_| self.verb().is_mutation()).unwrap_or_default();
                (Outcome::Failed(error), context)
            }
        };
        self.log(&outcome, took);
        if is_unserved_path(&outcome) {
            self.account.resolver.clear();
        }
        self.writer.close(rest, Ending { outcome, took });
    }

    fn verb(&self) -> &Verb {
        &self.operation.verb
    }

    async fn perform(&self, arrival: Option<Arrival>) -> Result<Answer, OperationError> {
        let context = OperationContext {
            operation: self.operation.id,
            account: self.account.clone(),
            server_side_apply: self.shared.server_side_apply.clone(),
            reveal_secrets: self.shared.reveal_secrets,
            retries: self.shared.retries.clone(),
            deadline: self.deadline,
            kinds: if self.verb().is_mutation() { KindFreshness::Current } else { KindFreshness::Recent },
            cancelled: self.cancelled.clone(),
            metrics: self.shared.metrics.clone(),
        };
        if self.verb().is_mutation() {
            self.change(&context, arrival).await
        } else {
            self.read(&context).await
        }
    }

    /// Makes a change: in order, and once begun, to its end.
    async fn change(
        &self,
        context: &OperationContext,
        arrival: Option<Arrival>,
    ) -> Result<Answer, OperationError> {
        let account = &self.operation.account;
        let concurrency = self.shared.concurrency(account);
        let waiting = async {
            if let Some(arrival) = &arrival {
                arrival.turn().await;
            }
            let target = match target::of_verb(self.verb())? {
                Some(target) => Some(ResolvedTarget::resolve(context, target).await?),
                None => None,
            };
            let is_secret = target.as_ref().is_some_and(ResolvedTarget::is_secret);
            // An object that gets its name from the API server is another one each time.
            let target =
                target.filter(|target| target.name.is_some() || matches!(self.verb(), Verb::Delete(_)));
            let namespace = target.as_ref().and_then(|target| target.namespace.clone());
            let queued = target.map(|target| self.shared.object_queue.enter((account.clone(), target)));
            // The next arrival enters the object's queue behind this one, or another queue.
            drop(arrival);
            if let Some(queued) = &queued {
                queued.turn().await;
            }
            let permit = concurrency.acquire(self.verb(), namespace.as_deref()).await;
            Ok::<_, OperationError>((is_secret, (queued, permit)))
        };
        let (is_secret, _turn) = self.in_time(waiting).await??;
        context.go_on()?;
        let panicked = || OperationError::unknown("internal error of the agent; see its log");
        let running = verbs::run(context, self.verb().clone(), &self.writer);
        let done = catch_panic(Box::pin(running), panicked).await;
        if is_secret { done.map_err(errors::without_values) } else { done }
    }

    /// Reads; it may end at any moment.
    async fn read(&self, context: &OperationContext) -> Result<Answer, OperationError> {
        let concurrency = self.shared.concurrency(&self.operation.account);
        let reading = async {
            let target = target::of_verb(self.verb())?;
            let namespace = target.as_ref().and_then(|target| target.namespace);
            let _permit = concurrency.acquire(self.verb(), namespace).await;
            let is_secret = match target {
                Some(target) => ResolvedTarget::resolve(context, target).await?.is_secret(),
                None => false,
            };
            let done = Box::pin(verbs::run(context, self.verb().clone(), &self.writer)).await;
            if is_secret { done.map_err(errors::without_values) } else { done }
        };
        let panicked =
            || OperationError::agent(ErrorKind::Internal, "internal error of the agent; see its log");
        self.in_time(catch_panic(reading, panicked)).await?
    }

    /// Runs work that may be dropped at any moment: to its end, its cancellation or its deadline.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, OperationError> {
        match timeout_at(self.deadline, self.cancelled.run_until_cancelled(work)).await {
            Ok(Some(done)) => Ok(done),
            Ok(None) => Err(OperationError::cancelled()),
            Err(_) => Err(OperationError::deadline_exceeded()),
        }
    }

    /// Logs one line for each operation, in the words of the original agent.
    fn log(&self, outcome: &Outcome, took: Duration) {
        let Operation { id, account, verb, .. } = &self.operation;
        let target = verb.target();
        let verb = verb.name();
        self.shared.metrics.operated(verb, outcome, took);
        let status = match outcome {
            Outcome::Succeeded { code } => code.to_string(),
            Outcome::Failed(error) if error.state() == FailedState::Failed => error.code.to_string(),
            Outcome::Failed(error) => error.state().word().to_owned(),
        };
        info!(operationId = %id, operationType = verb, %account, kind = target.kind, group = target.group(),
            operationNamespace = target.namespace, "Operation {verb} processed (status {status}) in {took:?}");
        if let Outcome::Failed(error) = outcome {
            let status = String::from_utf8_lossy(&error.status);
            debug!(operationId = %id, errorKind = error.kind.word(), %status, "the operation failed");
        }
    }
}

/// Answer of a verb, or this error if it panics: a bug ends one operation only.
async fn catch_panic(
    verb: impl Future<Output = Result<Answer, OperationError>>,
    panicked: impl FnOnce() -> OperationError,
) -> Result<Answer, OperationError> {
    AssertUnwindSafe(verb).catch_unwind().await.unwrap_or_else(|_| Err(panicked()))
}

/// Whether the API server does not serve the path at all: then the cached resources are out of date.
fn is_unserved_path(outcome: &Outcome) -> bool {
    let Outcome::Failed(error) = outcome else { return false };
    if !error.is_not_found() {
        return false;
    }
    // The API server marks it by nothing but these words.
    let status = String::from_utf8_lossy(&error.status);
    ["the server could not find the requested resource", "404 page not found"]
        .iter()
        .any(|text| status.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_verb_that_panics_is_an_outcome() {
        let panics = async { panic!("a bug") };
        let outcome = catch_panic(panics, || OperationError::unknown("a bug")).await;
        assert_eq!(outcome, Err(OperationError::unknown("a bug")));
        let answers = async { Ok(Answer::sent(200)) };
        assert_eq!(catch_panic(answers, OperationError::cancelled).await, Ok(Answer::sent(200)));
    }
}
