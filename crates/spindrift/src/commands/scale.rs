//! `spindrift scale`: sets how many replicas there are.

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use spindrift_model::{Scale as ScaleVerb, Verb};

use super::{
    Context,
    operate::{Change, Dry, Format, Step, Subjects, Where, duration},
};

const EXAMPLES: &str = "Examples:
  spindrift scale --replicas=3 deploy/web -n shop -a eu-west
  spindrift scale --current-replicas=2 --replicas=3 deploy/web   only if there are two
  spindrift scale --replicas=0 deploy -l tier=batch --all-accounts";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Scale {
    #[command(flatten)]
    subjects: Subjects,
    #[command(flatten)]
    wherever: Where,
    /// How many there shall be.
    #[arg(long, value_name = "N")]
    replicas: u32,
    /// Only if there are so many now.
    #[arg(long, value_name = "N")]
    current_replicas: Option<u32>,
    /// Only if it is still this version.
    #[arg(long, value_name = "VERSION")]
    resource_version: Option<String>,
    /// Whether it is only tried.
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    dry_run: Dry,
    /// How to show what was scaled; kubectl's words if absent.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Format>,
    /// How long each object may take.
    #[arg(long, value_parser = duration, value_name = "TIME")]
    timeout: Option<Duration>,
}

// === impl Scale ===

impl Scale {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let Self { subjects, wherever, output, dry_run, timeout, .. } = &self;
        let chosen = subjects.chosen(wherever)?;
        ensure!(!chosen.is_empty(), "no objects passed to scale");
        ensure!(
            self.resource_version.is_none() || chosen.len() == 1,
            "cannot use --resource-version with multiple resources"
        );
        let change =
            Change { wherever, doing: "scaling", output: *output, dry: *dry_run, deadline: *timeout };
        change
            .run(context, async |crew, account| {
                let found = subjects.in_account(crew, account, &chosen).await?;
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
