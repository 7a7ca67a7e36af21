//! One operation on its way from arrival to outcome.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::FutureExt;
use spindrift_model::{AccountName, Ending, OperationId, Outcome, Verb};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use super::{
    super::{
        Answer, Failure, Hand,
        lanes::Place,
        outbox::Letterbox,
        subject::{Aim, Subject},
        verbs,
    },
    Shared,
};
use crate::account::Account;

/// One operation on its way.
pub(super) struct Task {
    pub(super) shared: Arc<Shared>,
    pub(super) account: Arc<Account>,
    pub(super) operation: OperationId,
    pub(super) verb: Verb,
    pub(super) deadline: Instant,
    pub(super) cancelled: CancellationToken,
    pub(super) letterbox: Letterbox,
}

/// Its place among the mutations of its account, until it is known what it is about.
type Door = Place<AccountName>;

// === impl Task ===

impl Task {
    /// Does it, or finds out why not, and says so.
    pub(super) async fn run(self, door: Option<Door>) {
        let begun = Instant::now();
        let done = self.perform(door).await;
        let took = begun.elapsed();
        let (outcome, rest) = match done {
            Ok(Answer { code, body }) => (Outcome::Succeeded { code }, body),
            Err(mut failure) => {
                let doing = failure.body();
                // A read that failed has no answer but its status, which would not come first.
                (failure.into_outcome(), if self.verb.is_mutation() { doing } else { Bytes::new() })
            }
        };
        self.tell(&outcome, took);
        if is_of_nothing_served(&outcome) {
            self.account.resolver.clear();
        }
        self.letterbox.close(rest, Ending { outcome, took });
    }

    async fn perform(&self, door: Option<Door>) -> Result<Answer, Failure> {
        let hand = Hand {
            operation: self.operation,
            account: self.account.clone(),
            server_side_apply: self.shared.server_side_apply.clone(),
            retries: self.shared.retries.clone(),
            deadline: self.deadline,
            cancelled: self.cancelled.clone(),
            metrics: self.shared.metrics.clone(),
        };
        if self.verb.is_mutation() { self.change(&hand, door).await } else { self.read(&hand).await }
    }

    /// In order, and once begun, to its end.
    async fn change(&self, hand: &Hand, door: Option<Door>) -> Result<Answer, Failure> {
        let name = &self.account.description.name;
        let room = self.shared.room(name);
        let waiting = async {
            if let Some(door) = &door {
                door.turn().await;
            }
            let aim = match Subject::of(&self.verb)? {
                Some(subject) => Some(subject.aim(hand).await?),
                None => None,
            };
            let is_secret = aim.as_ref().is_some_and(Aim::is_secret);
            // An object that gets its name from the API server is another's each time.
            let aim = aim.filter(|aim| aim.name.is_some() || matches!(self.verb, Verb::Delete(_)));
            let namespace = aim.as_ref().and_then(|aim| aim.namespace.clone());
            let lane = aim.map(|aim| self.shared.lanes.enter((name.clone(), aim)));
            // Whoever comes next stands behind us in that lane, or in another.
            drop(door);
            if let Some(lane) = &lane {
                lane.turn().await;
            }
            let place = room.place(&self.verb, namespace.as_deref()).await;
            Ok::<_, Failure>((is_secret, (lane, place)))
        };
        let (is_secret, _turn) = self.in_time(waiting).await??;
        hand.go_on()?;
        let stumbled = || {
            Failure::Unknown("the agent stumbled over a bug of its own while it did this; see its log".into())
        };
        let done = outlived(Box::pin(verbs::run(hand, self.verb.clone(), &self.letterbox)), stumbled).await;
        if is_secret { done.map_err(Failure::without_values) } else { done }
    }

    /// At any moment it may end.
    async fn read(&self, hand: &Hand) -> Result<Answer, Failure> {
        let room = self.shared.room(&self.account.description.name);
        let reading = async {
            let subject = Subject::of(&self.verb)?;
            let namespace = subject.as_ref().and_then(Subject::namespace);
            let _place = room.place(&self.verb, namespace).await;
            let is_secret = match subject {
                Some(subject) => subject.aim(hand).await?.is_secret(),
                None => false,
            };
            let done = Box::pin(verbs::run(hand, self.verb.clone(), &self.letterbox)).await;
            if is_secret { done.map_err(Failure::without_values) } else { done }
        };
        let stumbled =
            || Failure::ours(500, "InternalError", "the agent stumbled over a bug of its own; see its log");
        self.in_time(outlived(reading, stumbled)).await?
    }

    /// What can be left at any moment: until it is done, nobody wants it, or its time is over.
    async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        match timeout_at(self.deadline, self.cancelled.run_until_cancelled(work)).await {
            Ok(Some(done)) => Ok(done),
            Ok(None) => Err(Failure::Cancelled),
            Err(_) => Err(Failure::Expired),
        }
    }

    /// A line for each operation, in the original's words.
    fn tell(&self, outcome: &Outcome, took: Duration) {
        let verb = self.verb.name();
        self.shared.metrics.operated(verb, outcome, took);
        let account = &self.account.description.name;
        let status = match outcome {
            Outcome::Succeeded { code } | Outcome::Failed { code, .. } => code.to_string(),
            other => other.word().to_owned(),
        };
        info!(operationId = %self.operation, operationType = verb, %account,
            "Operation {verb} processed (status {status}) in {took:?}");
        if let Outcome::Failed { status, .. } = outcome {
            debug!(operationId = %self.operation, status = %String::from_utf8_lossy(status), "the operation failed");
        }
    }
}

/// What a verb answers, or this failure if it panics: that is one operation's bad luck.
async fn outlived(
    verb: impl Future<Output = Result<Answer, Failure>>,
    stumbled: impl FnOnce() -> Failure,
) -> Result<Answer, Failure> {
    AssertUnwindSafe(verb).catch_unwind().await.unwrap_or_else(|_| Err(stumbled()))
}

/// Whether the API server does not know the path at all: what is known of its resources is out of date.
fn is_of_nothing_served(outcome: &Outcome) -> bool {
    let Outcome::Failed { code: 404, status } = outcome else { return false };
    let status = String::from_utf8_lossy(status);
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
        let outcome = outlived(panics, || Failure::Unknown("a bug".into())).await;
        assert_eq!(outcome, Err(Failure::Unknown("a bug".into())));
        let answers = async { Ok(Answer::sent(200)) };
        assert_eq!(outlived(answers, || Failure::Cancelled).await, Ok(Answer::sent(200)));
    }
}
