//! The verbs, one file each.

mod apply;
mod create;
mod diff;
mod matches;
mod patch;
mod recreate;
mod replace;
mod subject;

use spindrift_model::Verb;

use super::{Answer, AnswerSink, Failure, Hand};

/// Does what is asked for.
pub async fn run(hand: &Hand, verb: Verb, _sink: &impl AnswerSink) -> Result<Answer, Failure> {
    match verb {
        Verb::Apply(apply) => Box::pin(apply::run(hand, apply)).await,
        Verb::Create(create) => create::run(hand, create).await,
        Verb::Replace(replace) => Box::pin(replace::run(hand, replace)).await,
        Verb::Patch(patch) => patch::run(hand, patch).await,
        Verb::Diff(diff) => Box::pin(diff::run(hand, diff)).await,
        Verb::Matches(matches) => matches::run(hand, matches).await,
        verb => {
            let message = format!("this agent does not know the verb {}", verb.name());
            Err(Failure::ours(501, "NotImplemented", message))
        }
    }
}
