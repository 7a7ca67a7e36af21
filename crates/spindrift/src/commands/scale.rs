//! `spindrift scale`: sets the number of replicas.

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use spindrift_model::{KubectlAction, Scale as ScaleVerb, Verb};

use super::{
    Context,
    operate::{AccountFlags, ChangeCommand, ChangeFormat, DryRunMode, ResourceArgs, Step, duration},
};

const EXAMPLES: &str = "Examples:
  # Scale a deployment named 'web' to 3
  spindrift scale --replicas=3 deploy/web -n shop -a eu-west

  # If the deployment named web's current size is 2, scale web to 3
  spindrift scale --current-replicas=2 --replicas=3 deploy/web -a eu-west

  # Scale all deployments with label tier=batch to 0 in all accounts
  spindrift scale --replicas=0 deploy -l tier=batch --all-accounts";

/// Set a new size for a deployment, replica set, replication controller, or stateful set.
///
/// Scale also allows users to specify one or more preconditions for the scale action. If --current-replicas or
/// --resource-version is specified, it is validated before the scale is attempted, and it is guaranteed that the
/// precondition holds true when the scale is sent to the server.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    override_usage = "spindrift scale --replicas=COUNT (-f FILENAME | TYPE NAME | TYPE/NAME ...) [options]"
)]
pub(crate) struct Scale {
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    account_flags: AccountFlags,
    /// The new desired number of replicas. Required.
    #[arg(long, value_name = "COUNT")]
    replicas: u32,
    /// Precondition for current size. Requires that the current size of the resource match this value in order to scale.
    #[arg(long, value_name = "COUNT")]
    current_replicas: Option<u32>,
    /// Precondition for resource version. Requires that the current resource version match this value in order to scale.
    #[arg(long, value_name = "VERSION")]
    resource_version: Option<String>,
    /// Dry run strategy.
    #[arg(long, value_enum, default_value_t, value_name = "STRATEGY")]
    dry_run: DryRunMode,
    /// Output format. Defaults to one line for each object.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<ChangeFormat>,
    /// The length of time to wait for each object before giving up (e.g. 30s, 5m). Defaults to the limit of the hub.
    #[arg(long, value_parser = duration, value_name = "TIME")]
    timeout: Option<Duration>,
}

// === impl Scale ===

impl Scale {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let Self { resources, account_flags, output, dry_run, timeout, .. } = &self;
        let chosen = resources.chosen(account_flags).await?;
        ensure!(!chosen.is_empty(), "no objects passed to scale");
        ensure!(
            self.resource_version.is_none() || chosen.len() == 1,
            "cannot use --resource-version with multiple resources"
        );
        let change = ChangeCommand {
            account_flags,
            action: KubectlAction::Other("scaling"),
            output: *output,
            dry_run: *dry_run,
            deadline: *timeout,
        };
        change
            .run(context, async |fanout, account| {
                let found = resources.in_account(fanout, account, &chosen).await?;
                let steps = found.into_iter().map(|(target, file)| {
                    let title = target.to_string();
                    let verb = Verb::Scale(ScaleVerb {
                        target,
                        replicas: self.replicas,
                        current_replicas: self.current_replicas,
                        resource_version: self.resource_version.clone(),
                        dry_run: self.dry_run.into(),
                    });
                    Step { verb, title, file }
                });
                Ok(steps.collect())
            })
            .await
    }
}
