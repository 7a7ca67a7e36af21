//! `rollout status`: progress of a rollout, line by line, until it is complete.

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use serde::Deserialize;
use spindrift_model::{DryRun, ObjectRef, Rollout, RolloutAction, Verb};

use crate::commands::{
    Context,
    operate::{AccountFanout, AccountFlags, AccountLine, DisplayMode, ResourceArgs, duration},
};

const EXAMPLES: &str = "Examples:
  # Watch the rollout status of a deployment in two accounts
  spindrift rollout status deploy/web -n shop -a eu-west,us-east

  # Show the current status once
  spindrift rollout status deploy/web -n shop -a eu-west --watch=false";

/// Show the status of the rollout.
///
/// By default 'rollout status' will watch the status of the latest rollout until it's done. If you don't want to wait for
/// the rollout to finish then you can use --watch=false.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    override_usage = "spindrift rollout status (-f FILENAME | TYPE NAME | TYPE/NAME ...) [options]"
)]
pub(super) struct Status {
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    account_flags: AccountFlags,
    /// Watch the status of the rollout until it's done.
    #[arg(
        short,
        long,
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set,
        value_name = "BOOL"
    )]
    watch: bool,
    /// The length of time to wait before ending watch (e.g. 30s, 5m), zero means a day.
    #[arg(long, value_parser = duration, default_value = "0", value_name = "TIME")]
    timeout: Duration,
}

/// Line of the agent's response.
#[derive(Debug, Deserialize)]
struct StatusLine {
    message: String,
    #[serde(default)]
    done: bool,
}

/// Deadline of `--timeout=0`: every operation has one.
const AS_LONG_AS_IT_TAKES: Duration = Duration::from_hours(24);

// === impl Status ===

impl Status {
    pub(super) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let Self { resources, account_flags, .. } = &self;
        let chosen = resources.chosen(account_flags).await?;
        ensure!(!chosen.is_empty(), "no objects passed to rollout");
        let fanout = AccountFanout::new(context)?;
        let accounts = account_flags.accounts(fanout.hub()).await?;
        fanout
            .run(&accounts, DisplayMode::Progress, async |line| {
                match resources.in_account(&fanout, line.account(), &chosen).await {
                    Ok(found) => {
                        for (target, _) in found {
                            self.follow(&fanout, line, target).await?;
                        }
                    }
                    Err(error) => line.fail(&error.to_string()),
                }
                Ok(())
            })
            .await
    }

    async fn follow(
        &self,
        fanout: &AccountFanout<'_>,
        line: &AccountLine,
        target: ObjectRef,
    ) -> anyhow::Result<()> {
        let action = RolloutAction::Status { follow: self.watch };
        let verb = Verb::Rollout(Rollout { target, action, dry_run: DryRun::None });
        let deadline = if self.timeout.is_zero() { AS_LONG_AS_IT_TAKES } else { self.timeout };
        let deadline = self.watch.then_some(deadline);
        let mut is_done = false;
        let followed = match fanout.submit(line.account(), &verb, deadline).await {
            Ok(mut reply) => {
                reply
                    .lines(|json| {
                        let StatusLine { message, done } = serde_json::from_slice(json)?;
                        is_done |= done;
                        Ok(line.progress(message.trim_end())?)
                    })
                    .await?
            }
            Err(error) => Err(error),
        };
        match followed {
            Ok(()) if is_done || !self.watch => {}
            Ok(()) => {
                line.fail("error: the rollout status was interrupted before the rollout was complete; retry");
            }
            // kubectl's text, which scripts look for.
            Err(error) if error.is("Timeout") => line.fail("error: timed out waiting for the condition"),
            Err(error) => line.fail(&error.to_string()),
        }
        Ok(())
    }
}
