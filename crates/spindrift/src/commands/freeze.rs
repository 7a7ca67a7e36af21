//! `spindrift freeze` and `unfreeze`: nothing is changed in an account, whoever asks.

use clap::Args;

use super::{
    Context,
    operate::{Crew, View, Where},
};

const EXAMPLES: &str = "Examples:
  spindrift freeze -a eu-west --reason 'the database is moved'
  spindrift freeze --all-accounts --reason 'no deploys on Friday'
  spindrift unfreeze -a eu-west";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Freeze {
    #[command(flatten)]
    wherever: Where,
    /// Why; whoever wants to change something gets to read it.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct Unfreeze {
    #[command(flatten)]
    wherever: Where,
}

// === impl Freeze ===

impl Freeze {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        each(context, &self.wherever, Some(&self.reason)).await
    }
}

// === impl Unfreeze ===

impl Unfreeze {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        each(context, &self.wherever, None).await
    }
}

/// Freezes the accounts for a reason, or lets them go.
async fn each(context: &Context, wherever: &Where, reason: Option<&str>) -> anyhow::Result<()> {
    let crew = Crew::new(context)?;
    let hub = crew.hub();
    let accounts = wherever.accounts(hub).await?;
    crew.everywhere(&accounts, View::Progress, async |line| {
        let account = line.account();
        let (done, word) = match reason {
            Some(reason) => (hub.freeze(account, reason).await, "frozen"),
            None => (hub.unfreeze(account).await, "unfrozen"),
        };
        match done {
            Ok(()) => line.done(&format!("account/{account} {word}"), word)?,
            Err(error) => line.fail(&format!("error: {error}")),
        }
        Ok(())
    })
    .await
}
