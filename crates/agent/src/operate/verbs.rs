//! The verbs, one file each.

mod apply;
mod create;
mod delete;
mod diff;
mod get;
mod list;
mod matches;
mod patch;
mod place;
mod recreate;
mod replace;

use spindrift_model::{RolloutAction, Verb};

use super::{Answer, AnswerSink, Failure, Hand};

/// Does what is asked for.
pub async fn run(hand: &Hand, verb: Verb, sink: &impl AnswerSink) -> Result<Answer, Failure> {
    match verb {
        Verb::Apply(apply) => Box::pin(apply::run(hand, apply)).await,
        Verb::Create(create) => create::run(hand, create).await,
        Verb::Replace(replace) => Box::pin(replace::run(hand, replace)).await,
        Verb::Patch(patch) => patch::run(hand, patch).await,
        Verb::Delete(delete) => delete::run(hand, delete).await,
        Verb::Get(get) => get::run(hand, get).await,
        Verb::List(list) => list::run(hand, list, sink).await,
        Verb::Diff(diff) => Box::pin(diff::run(hand, diff)).await,
        Verb::Matches(matches) => matches::run(hand, matches).await,
        other => Err(Failure::ours(
            501,
            "NotImplemented",
            format!("this agent does not know the verb {}", other.name()),
        )),
    }
}

/// Whether it goes on as long as something happens.
pub(super) fn follows(verb: &Verb) -> bool {
    match verb {
        Verb::Logs(logs) => logs.follow,
        Verb::Rollout(rollout) => matches!(rollout.action, RolloutAction::Status { follow: true }),
        _ => false,
    }
}
