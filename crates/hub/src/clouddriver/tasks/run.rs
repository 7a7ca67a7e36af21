//! One run of a task, from beginning to end.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use serde_json::Value;
use spindrift_process::report;
use spindrift_spinnaker::{Failure, Line, OperationResult, SubmittedOperation, TaskRequest, TaskState};
use tracing::{info, warn};

use super::{
    RunningAttempt, TasksShared,
    executor::OperationExecutor,
    step_error::StepError,
    steps::Steps,
    submission::{PROVIDER, account_of, manifests},
};
use crate::{
    clouddriver::Account,
    dispatch::SealedItem,
    store::{StoreError, TaskId},
};

/// Runs one attempt at a task.
#[derive(Debug)]
pub(super) struct Run {
    shared: Arc<TasksShared>,
    id: TaskId,
    attempt: u32,
    /// Body of the request, if this hub has just received it.
    body: Option<Bytes>,
    _registration: RunningAttempt,
}

/// Request of a task.
enum StoredRequest {
    Readable(TaskRequest),
    /// It was encrypted with a key that this hub does not have.
    Unreadable,
    /// The task has ended.
    Ended,
}

// === impl Run ===

impl Run {
    pub(super) fn new(registration: RunningAttempt, body: Option<Bytes>) -> Self {
        let (shared, id, attempt) = (Arc::clone(&registration.shared), registration.id, registration.attempt);
        Self { shared, id, attempt, body, _registration: registration }
    }

    /// Runs until the task has ended. When the hub shuts down, the next hub continues from the journal.
    pub(super) async fn run(mut self) -> Result<(), Infallible> {
        let token = self.shared.group.token();
        match token.run_until_cancelled(self.execute()).await {
            Some(Ok(())) | None => {}
            Some(Err(error)) => {
                warn!(task = %self.id, error = %report(&error), "a task could not be run; retrying");
            }
        }
        Ok(())
    }

    async fn execute(&mut self) -> Result<(), StoreError> {
        let submissions = match self.request().await? {
            StoredRequest::Readable(request) => request.submissions(PROVIDER),
            StoredRequest::Unreadable => return self.fail_unreadable().await,
            StoredRequest::Ended => return Ok(()),
        };
        let mut steps = match Steps::begin(Arc::clone(&self.shared), self.id, self.attempt).await {
            Err(StoreError::Sealed) => return self.fail_unreadable().await,
            steps => steps?,
        };
        let accounts = self.shared.accounts.all().await?;
        steps.say(if self.attempt == 0 { Line::initializing() } else { Line::initializing_again() });
        let submissions = match submissions {
            Ok(submissions) => submissions,
            // The hub that accepted it is of another release.
            Err(invalid) => {
                self.abandon(&mut steps, &Failure::illegal_argument(invalid.to_string())).await;
                return Ok(());
            }
        };
        let mut results = Vec::new();
        let mut state = TaskState::Completed;
        for submission in submissions {
            steps.say(Line::processing(submission.operation));
            match operate(&mut steps, &accounts, &submission).await {
                Ok(result) => {
                    steps.say(Line::completed());
                    let json = |result| serde_json::to_value(result).expect("results have string keys");
                    results.extend(result.map(json));
                }
                Err(error) => {
                    let Some(failure) = error.into_failure() else { return Ok(()) };
                    let (operation, account) = (submission.operation, submission.account.wanted());
                    warn!(
                        task = %self.id,
                        ?operation,
                        account = account.unwrap_or_default(),
                        reason = failure.message,
                        "an operation of a task failed"
                    );
                    steps.say(Line::failed(submission.operation, &failure));
                    // Earlier results are dropped: a reader would take them for all results.
                    results = vec![failure.result_object(submission.operation)];
                    state = TaskState::Failed;
                    break;
                }
            }
        }
        self.end(&mut steps, state, &results).await;
        Ok(())
    }

    async fn end(&self, steps: &mut Steps, state: TaskState, results: &[Value]) {
        match steps.end(state, results).await {
            Ok(()) => info!(task = %self.id, attempt = self.attempt, ?state, "task ended"),
            // The store rejects the results. The task ends with that message instead, so that callers do not wait forever.
            Err(StepError::Failed(failure)) => {
                steps.drop_new_lines();
                steps.say(Line::abandoned(&failure));
                if steps.end(TaskState::Failed, &[failure.result_object_of("")]).await.is_ok() {
                    info!(task = %self.id, attempt = self.attempt, "task ended without its results");
                }
            }
            Err(_) => {}
        }
    }

    async fn abandon(&self, steps: &mut Steps, failure: &Failure) {
        steps.say(Line::abandoned(failure));
        self.end(steps, TaskState::Failed, &[failure.result_object_of("")]).await;
    }

    /// Request of the task, from the store if this hub did not just receive it.
    async fn request(&mut self) -> Result<StoredRequest, StoreError> {
        let body = match self.body.take() {
            Some(body) => Some(body),
            None => match self.shared.store.task_body(&self.shared.config.tenant, self.id).await? {
                None => return Ok(StoredRequest::Ended),
                Some((key_id, sealed)) if key_id == self.shared.vault.key_id() => {
                    self.shared.vault.open(self.id.ulid(), SealedItem::Task, &sealed)
                }
                Some(_) => None,
            },
        };
        let request = body.and_then(|body| serde_json::from_slice(&body).ok());
        Ok(request.map_or(StoredRequest::Unreadable, StoredRequest::Readable))
    }

    /// Ends a task whose request this hub cannot decrypt.
    async fn fail_unreadable(&self) -> Result<(), StoreError> {
        let failure = Failure::illegal_state(
            "the hub that ran it died, and no other has the key that encrypts it; what it had begun may be done or \
             not, and nothing more will be (kubesvc.operations.encryption.key lets hubs take over from each other)",
        );
        let mut steps = Steps::at_the_end(Arc::clone(&self.shared), self.id, self.attempt).await?;
        self.abandon(&mut steps, &failure).await;
        Ok(())
    }
}

/// Runs one operation.
async fn operate(
    steps: &mut Steps,
    accounts: &[Arc<Account>],
    submission: &SubmittedOperation,
) -> Result<Option<OperationResult>, StepError> {
    let SubmittedOperation { operation, description, .. } = submission;
    let account =
        account_of(accounts, submission).map_err(|refusal| Failure::illegal_argument(refusal.message))?;
    let mut executor = OperationExecutor::new(steps, account, *operation);
    let cluster_scoped = executor.cluster_scoped(description).await?;
    let manifests = manifests(account, description, |kind| cluster_scoped.contains(kind).then_some(false));
    let manifests = manifests.map_err(|error| Failure::illegal_argument(error.to_string()))?;
    executor.run(description, manifests).await
}
