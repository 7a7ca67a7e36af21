//! Verbs, one file each.

mod apply;
mod create;
mod delete;
mod diff;
mod discover;
mod get;
mod hidden_values;
mod list;
mod logs;
mod manifest_target;
mod matches;
mod patch;
mod recreate;
mod replace;
mod rollout;
mod scale;
mod top;

use serde::de::DeserializeOwned;
use spindrift_kubernetes::{ApiError, Call};
use spindrift_model::{DryRun, ErrorKind, OperationError, Verb};

use super::{Answer, AnswerSink, OperationContext};
use crate::operate::errors;

/// Executes a verb: the one exhaustive match of this crate.
pub async fn run(
    context: &OperationContext,
    verb: Verb,
    sink: &impl AnswerSink,
) -> Result<Answer, OperationError> {
    match verb {
        Verb::Apply(apply) => Box::pin(apply::run(context, apply)).await,
        Verb::Create(create) => create::run(context, create).await,
        Verb::Replace(replace) => Box::pin(replace::run(context, replace)).await,
        Verb::Patch(patch) => patch::run(context, patch).await,
        Verb::Delete(delete) => delete::run(context, delete).await,
        Verb::Scale(scale) => scale::run(context, scale).await,
        Verb::Rollout(rollout) => rollout::run(context, rollout, sink).await,
        Verb::Get(get) => get::run(context, get).await,
        Verb::List(list) => list::run(context, list, sink).await,
        Verb::Logs(logs) => logs::run(context, logs, sink).await,
        Verb::Top(top) => top::run(context, top).await,
        Verb::Discover(_) => discover::run(context).await,
        Verb::Diff(diff) => Box::pin(diff::run(context, diff)).await,
        Verb::Matches(matches) => matches::run(context, matches).await,
    }
}

/// Adds the dry run of the API server, if requested.
fn dry_run(call: Call, dry_run: DryRun) -> Call {
    match dry_run {
        DryRun::Server => call.query("dryRun", "All"),
        DryRun::None | DryRun::Client => call,
    }
}

/// Error of a failed change; a dry run never leaves an unknown outcome.
fn failed(error: &ApiError, dry_run: DryRun) -> OperationError {
    match dry_run {
        DryRun::Server => errors::of_read(error),
        DryRun::None | DryRun::Client => errors::of_change(error),
    }
}

/// Parses an answer of the API server.
fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, OperationError> {
    serde_json::from_slice(body).map_err(|error| {
        OperationError::agent(
            ErrorKind::BadAnswer,
            format!("the API server's answer cannot be read: {error}"),
        )
    })
}
