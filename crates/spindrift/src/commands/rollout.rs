//! `spindrift rollout`: manages rollouts of workloads.

mod history;
mod status;

use std::time::Duration;

use anyhow::ensure;
use clap::{Args, Subcommand};
use spindrift_model::{KubectlAction, Rollout as RolloutVerb, RolloutAction, Verb};

use self::{history::History, status::Status};
use super::{
    Context,
    operate::{AccountFlags, ChangeCommand, ChangeFormat, DryRunMode, ResourceArgs, Step, duration},
};

const EXAMPLES: &str = "Examples:
  # Roll back to the previous deployment
  spindrift rollout undo deploy/web -n shop -a eu-west

  # Check the rollout status of a daemonset in two accounts
  spindrift rollout status daemonset/proxy -a eu-west,us-east

  # Restart a deployment
  spindrift rollout restart deploy/web -n shop -a eu-west

  # Restart deployments with the 'app=web' label
  spindrift rollout restart deployment --selector=app=web -a eu-west";

const UNDO_EXAMPLES: &str = "Examples:
  # Roll back to the previous deployment
  spindrift rollout undo deploy/web -n shop -a eu-west

  # Roll back to daemonset revision 3
  spindrift rollout undo daemonset/proxy -a eu-west --to-revision=3

  # Roll back to the previous deployment with dry-run
  spindrift rollout undo deploy/web -a eu-west --dry-run=server";

const PAUSE_EXAMPLES: &str = "Examples:
  # Mark the deployment as paused
  # Any current state of the deployment will continue its function; new updates
  # to the deployment will not have an effect as long as it is paused
  spindrift rollout pause deploy/web -n shop -a eu-west";

const RESUME_EXAMPLES: &str = "Examples:
  # Resume an already paused deployment
  spindrift rollout resume deploy/web -n shop -a eu-west";

const RESTART_EXAMPLES: &str = "Examples:
  # Restart a deployment
  spindrift rollout restart deploy/web -n shop -a eu-west

  # Restart deployments with the 'app=web' label in all accounts
  spindrift rollout restart deployment -l app=web --all-accounts";

/// Manage the rollout of one or many resources.
///
/// Valid resource types are deployments, daemonsets and statefulsets.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift rollout SUBCOMMAND [options]")]
pub(crate) struct Rollout {
    #[command(subcommand)]
    action: RolloutCommand,
}

#[derive(Debug, Subcommand)]
enum RolloutCommand {
    /// Undo a previous rollout.
    #[command(
        before_help = UNDO_EXAMPLES,
        override_usage = "spindrift rollout undo (-f FILENAME | TYPE NAME | TYPE/NAME ...) [options]"
    )]
    Undo(Undo),
    /// Mark the provided resource as paused.
    ///
    /// Paused resources will not be reconciled by a controller. Use "spindrift rollout resume" to resume a paused
    /// resource. Currently only deployments support being paused.
    #[command(
        before_help = PAUSE_EXAMPLES,
        override_usage = "spindrift rollout pause (-f FILENAME | TYPE NAME | TYPE/NAME ...) [options]"
    )]
    Pause(Plain),
    /// Resume a paused resource.
    ///
    /// Paused resources will not be reconciled by a controller. By resuming a resource, we allow it to be reconciled
    /// again. Currently only deployments support being resumed.
    #[command(
        before_help = RESUME_EXAMPLES,
        override_usage = "spindrift rollout resume (-f FILENAME | TYPE NAME | TYPE/NAME ...) [options]"
    )]
    Resume(Plain),
    /// Restart a resource.
    ///
    /// Resource rollout will be restarted.
    #[command(
        before_help = RESTART_EXAMPLES,
        override_usage = "spindrift rollout restart (-f FILENAME | TYPE NAME | TYPE/NAME ...) [options]"
    )]
    Restart(Plain),
    History(History),
    Status(Status),
}

#[derive(Debug, Args)]
struct Undo {
    #[command(flatten)]
    plain: Plain,
    /// The revision to rollback to. Default to 0 (last revision).
    #[arg(long, default_value_t = 0, value_name = "REVISION")]
    to_revision: u64,
    /// Dry run strategy.
    #[arg(long, value_enum, default_value_t, value_name = "STRATEGY")]
    dry_run: DryRunMode,
}

#[derive(Debug, Args)]
struct Plain {
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    account_flags: AccountFlags,
    /// Output format. Defaults to one line for each object.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<ChangeFormat>,
    /// The length of time to wait for each object before giving up (e.g. 30s, 5m). Defaults to the limit of the hub.
    #[arg(long, value_parser = duration, value_name = "TIME")]
    timeout: Option<Duration>,
}

// === impl Rollout ===

impl Rollout {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        match self.action {
            RolloutCommand::Undo(Undo { plain, to_revision, dry_run }) => {
                let to_revision = Some(to_revision).filter(|revision| *revision > 0);
                plain.run(context, "undoing", &RolloutAction::Undo { to_revision }, dry_run).await
            }
            RolloutCommand::Pause(plain) => {
                plain.run(context, "pausing", &RolloutAction::Pause, DryRunMode::None).await
            }
            RolloutCommand::Resume(plain) => {
                plain.run(context, "resuming", &RolloutAction::Resume, DryRunMode::None).await
            }
            RolloutCommand::Restart(plain) => {
                plain.run(context, "restarting", &RolloutAction::Restart, DryRunMode::None).await
            }
            RolloutCommand::History(history) => history.run(context).await,
            RolloutCommand::Status(status) => status.run(context).await,
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
        dry_run: DryRunMode,
    ) -> anyhow::Result<()> {
        let Self { resources, account_flags, output, timeout } = self;
        let chosen = resources.chosen(account_flags).await?;
        ensure!(!chosen.is_empty(), "no objects passed to rollout");
        let change = ChangeCommand {
            account_flags,
            action: KubectlAction::Other(doing),
            output: *output,
            dry_run,
            deadline: *timeout,
        };
        change
            .run(context, async |fanout, account| {
                let found = resources.in_account(fanout, account, &chosen).await?;
                let steps = found.into_iter().map(|(target, file)| {
                    let title = target.to_string();
                    let verb = Verb::Rollout(RolloutVerb {
                        target,
                        action: action.clone(),
                        dry_run: dry_run.into(),
                    });
                    Step { verb, title, file }
                });
                Ok(steps.collect())
            })
            .await
    }
}
