//! The verbs, one file each.

mod apply;
mod create;
mod delete;
mod diff;
mod discover;
mod get;
mod list;
mod logs;
mod matches;
mod patch;
mod place;
mod recreate;
mod replace;
mod rollout;
mod scale;
mod top;

use serde::de::DeserializeOwned;
use spindrift_kubernetes::{ApiError, Call};
use spindrift_model::{DryRun, Verb};

use super::{Answer, AnswerSink, Failure, Hand};

/// Does what is asked for.
pub async fn run(hand: &Hand, verb: Verb, sink: &impl AnswerSink) -> Result<Answer, Failure> {
    match verb {
        Verb::Apply(apply) => Box::pin(apply::run(hand, apply)).await,
        Verb::Create(create) => create::run(hand, create).await,
        Verb::Replace(replace) => Box::pin(replace::run(hand, replace)).await,
        Verb::Patch(patch) => patch::run(hand, patch).await,
        Verb::Delete(delete) => delete::run(hand, delete).await,
        Verb::Scale(scale) => scale::run(hand, scale).await,
        Verb::Rollout(rollout) => rollout::run(hand, rollout, sink).await,
        Verb::Get(get) => get::run(hand, get).await,
        Verb::List(list) => list::run(hand, list, sink).await,
        Verb::Logs(logs) => logs::run(hand, logs, sink).await,
        Verb::Top(top) => top::run(hand, top).await,
        Verb::Discover {} => discover::run(hand).await,
        Verb::Diff(diff) => Box::pin(diff::run(hand, diff)).await,
        Verb::Matches(matches) => matches::run(hand, matches).await,
    }
}

/// Lets the API server only try it, if that is asked for.
fn dry_run(call: Call, dry_run: DryRun) -> Call {
    match dry_run {
        DryRun::Server => call.query("dryRun", "All"),
        DryRun::None | DryRun::Client => call,
    }
}

/// What it means that a change failed: what is only tried leaves no doubt behind.
fn failed(error: &ApiError, dry_run: DryRun) -> Failure {
    match dry_run {
        DryRun::Server => Failure::of_read(error),
        DryRun::None | DryRun::Client => Failure::of_mutation(error),
    }
}

/// Reads an answer of the API server.
fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|error| {
        Failure::ours(502, "BadGateway", format!("the API server's answer cannot be read: {error}"))
    })
}
