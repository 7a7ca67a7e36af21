//! `spindrift rollout`: revisions of workloads, and how far the newest one is.

mod history;
mod status;

use std::time::Duration;

use anyhow::ensure;
use clap::{Args, Subcommand};
use spindrift_model::{Rollout as RolloutVerb, RolloutAction, Verb};

use self::{history::History, status::Status};
use super::{
    Context,
    operate::{Change, Dry, Format, Step, Subjects, Where, duration},
};

const EXAMPLES: &str = "Examples:
  spindrift rollout restart deploy/web -n shop -a eu-west
  spindrift rollout status deploy/web -n shop -a eu-west,us-east   until it is done
  spindrift rollout history deploy/web --revision=2
  spindrift rollout undo deploy/web --to-revision=2";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Rollout {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Goes back to the revision before, or to another one.
    Undo(Undo),
    /// Holds a rollout.
    Pause(Plain),
    /// Lets a rollout go on that was held.
    Resume(Plain),
    /// Replaces all pods, by and by.
    Restart(Plain),
    /// Shows the revisions.
    History(History),
    /// Shows how far the rollout is, until it is done.
    Status(Status),
}

#[derive(Debug, Args)]
struct Undo {
    #[command(flatten)]
    plain: Plain,
    /// The revision to go back to; 0 is the one before.
    #[arg(long, default_value_t = 0, value_name = "REVISION")]
    to_revision: u64,
    /// Whether it is only tried.
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    dry_run: Dry,
}

#[derive(Debug, Args)]
struct Plain {
    #[command(flatten)]
    subjects: Subjects,
    #[command(flatten)]
    wherever: Where,
    /// How to show what was done; kubectl's words if absent.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Format>,
    /// How long each object may take.
    #[arg(long, value_parser = duration, value_name = "TIME")]
    timeout: Option<Duration>,
}

// === impl Rollout ===

impl Rollout {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        match self.action {
            Action::Undo(Undo { plain, to_revision, dry_run }) => {
                let to_revision = Some(to_revision).filter(|revision| *revision > 0);
                plain.run(context, "undoing", &RolloutAction::Undo { to_revision }, dry_run).await
            }
            Action::Pause(plain) => plain.run(context, "pausing", &RolloutAction::Pause, Dry::None).await,
            Action::Resume(plain) => plain.run(context, "resuming", &RolloutAction::Resume, Dry::None).await,
            Action::Restart(plain) => {
                plain.run(context, "restarting", &RolloutAction::Restart, Dry::None).await
            }
            Action::History(history) => history.run(context).await,
            Action::Status(status) => status.run(context).await,
        }
    }
}

// === impl Plain ===

impl Plain {
    async fn run(
        &self,
        context: &Context,
        doing: &'static str,
        action: &RolloutAction,
        dry: Dry,
    ) -> anyhow::Result<()> {
        let Self { subjects, wherever, output, timeout } = self;
        let chosen = subjects.chosen(wherever)?;
        ensure!(!chosen.is_empty(), "no objects passed to rollout");
        let change = Change { wherever, doing, output: *output, dry, deadline: *timeout };
        change
            .run(context, async |crew, account| {
                let found = subjects.in_account(crew, account, &chosen).await?;
                let steps = found.into_iter().map(|(target, file)| {
                    let title = target.to_string();
                    let verb =
                        Verb::Rollout(RolloutVerb { target, action: action.clone(), dry_run: dry.into() });
                    Step { verb, title, file }
                });
                Ok(steps.collect())
            })
            .await
    }
}
