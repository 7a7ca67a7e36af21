//! One run of a task, from its beginning to its end.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use serde_json::Value;
use spindrift_process::report;
use spindrift_spinnaker::{Failure, Line, OperationResult, Request, Submission, TaskState};
use tracing::{info, warn};

use super::{
    AtWork, Shared,
    act::Act,
    halt::Halt,
    steps::Steps,
    submission::{PROVIDER, account_of, manifests},
};
use crate::{
    clouddriver::Account,
    dispatch::Place,
    store::{StoreError, TaskId},
};

/// Runs one attempt at a task.
#[derive(Debug)]
pub(super) struct Run {
    shared: Arc<Shared>,
    id: TaskId,
    attempt: u32,
    /// What is asked, if it was asked of this hub just now.
    body: Option<Bytes>,
    _at_work: AtWork,
}

/// What is asked, and whether it can still be read.
enum Asked {
    Readable(Request),
    /// It was encrypted by a key that nobody has any more.
    Unreadable,
    /// The task has ended.
    Over,
}

// === impl Run ===

impl Run {
    pub(super) fn new(at_work: AtWork, body: Option<Bytes>) -> Self {
        let (shared, id, attempt) = (Arc::clone(&at_work.shared), at_work.id, at_work.attempt);
        Self { shared, id, attempt, body, _at_work: at_work }
    }

    /// Runs until the task has ended; when the hub stops, the journal tells the next one where it stands.
    pub(super) async fn run(mut self) -> Result<(), Infallible> {
        let token = self.shared.group.token();
        match token.run_until_cancelled(self.carry()).await {
            Some(Ok(())) | None => {}
            Some(Err(error)) => {
                warn!(task = %self.id, error = %report(&error), "a task could not be run, and is tried again");
            }
        }
        Ok(())
    }

    async fn carry(&mut self) -> Result<(), StoreError> {
        let submissions = match self.asked().await? {
            Asked::Readable(request) => request.submissions(PROVIDER),
            Asked::Unreadable => return self.lost().await,
            Asked::Over => return Ok(()),
        };
        let mut steps = match Steps::begin(Arc::clone(&self.shared), self.id, self.attempt).await {
            Err(StoreError::Sealed) => return self.lost().await,
            steps => steps?,
        };
        let accounts = self.shared.accounts.all().await?;
        steps.say(if self.attempt == 0 { Line::initializing() } else { Line::initializing_again() });
        let submissions = match submissions {
            Ok(submissions) => submissions,
            // It was readable to the hub that took it on, which is of another release.
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
                    results.extend(result.map(|result| serde_json::to_value(result).unwrap_or_default()));
                }
                Err(halt) => {
                    let Some(failure) = halt.into_failure() else { return Ok(()) };
                    steps.say(Line::failed(submission.operation, &failure));
                    // What went before is not told: who reads results would take it for the whole.
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
            // What it leaves behind will never be written down. That can be said, and who waits for it hears something.
            Err(Halt::Failed(failure)) => {
                steps.forget_unsaid();
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

    /// What is asked; from the store, if another life or hub was asked.
    async fn asked(&mut self) -> Result<Asked, StoreError> {
        let body = match self.body.take() {
            Some(body) => Some(body),
            None => match self.shared.store.task_body(&self.shared.config.tenant, self.id).await? {
                None => return Ok(Asked::Over),
                Some((key_id, sealed)) if key_id == self.shared.vault.key_id() => {
                    self.shared.vault.open(self.id.ulid(), Place::Task, &sealed)
                }
                Some(_) => None,
            },
        };
        let request = body.and_then(|body| serde_json::from_slice(&body).ok());
        Ok(request.map_or(Asked::Unreadable, Asked::Readable))
    }

    /// Nobody can run it any more: that is said, rather than nothing.
    async fn lost(&self) -> Result<(), StoreError> {
        let failure = Failure::illegal_state(
            "the hub that ran it died, and no other has the key that encrypts it; what it had begun may be done or \
             not, and nothing more will be (kubesvc.operations.encryption.key lets hubs take over from each other)",
        );
        let mut steps = Steps::at_the_end(Arc::clone(&self.shared), self.id, self.attempt).await?;
        self.abandon(&mut steps, &failure).await;
        Ok(())
    }
}

/// Does one operation.
async fn operate(
    steps: &mut Steps,
    accounts: &[Arc<Account>],
    submission: &Submission,
) -> Result<Option<OperationResult>, Halt> {
    let Submission { operation, description, .. } = submission;
    let account =
        account_of(accounts, submission).map_err(|refusal| Failure::illegal_argument(refusal.message))?;
    let mut act = Act::new(steps, account, *operation);
    let global = act.without_namespaces(description).await?;
    let manifests = manifests(account, description, |kind| global.contains(kind).then_some(false));
    let manifests = manifests.map_err(|error| Failure::illegal_argument(error.to_string()))?;
    act.run(description, manifests).await
}
