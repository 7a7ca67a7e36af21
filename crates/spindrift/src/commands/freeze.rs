//! `spindrift freeze` and `unfreeze`: reject or allow changes in accounts.

use clap::Args;

use super::{
    Context,
    operate::{AccountFanout, AccountFlags, DisplayMode},
};

const FREEZE_EXAMPLES: &str = "Examples:
  # Freeze an account
  spindrift freeze -a eu-west --reason 'database migration'

  # Freeze all accounts
  spindrift freeze --all-accounts --reason 'no deploys on Friday'";

const UNFREEZE_EXAMPLES: &str = "Examples:
  # Allow changes to an account again
  spindrift unfreeze -a eu-west";

/// Mark accounts as frozen.
///
/// The hub rejects every operation that would change an object in a frozen account, whether it comes from this command
/// line or from Spinnaker. Reads are still allowed. Use "spindrift unfreeze" to allow changes again.
#[derive(Debug, Args)]
#[command(
    before_help = FREEZE_EXAMPLES,
    override_usage = "spindrift freeze (-a ACCOUNT | --all-accounts) --reason TEXT [options]"
)]
pub(crate) struct Freeze {
    #[command(flatten)]
    account_flags: AccountFlags,
    /// The reason, shown to everyone whose operation is rejected. Required.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Mark accounts as unfrozen.
///
/// The hub accepts operations that change objects in the account again.
#[derive(Debug, Args)]
#[command(
    before_help = UNFREEZE_EXAMPLES,
    override_usage = "spindrift unfreeze (-a ACCOUNT | --all-accounts) [options]"
)]
pub(crate) struct Unfreeze {
    #[command(flatten)]
    account_flags: AccountFlags,
}

// === impl Freeze ===

impl Freeze {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        each(context, &self.account_flags, Some(&self.reason)).await
    }
}

// === impl Unfreeze ===

impl Unfreeze {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        each(context, &self.account_flags, None).await
    }
}

/// Freezes the accounts for a reason, or unfreezes them without one.
async fn each(context: &Context, account_flags: &AccountFlags, reason: Option<&str>) -> anyhow::Result<()> {
    let fanout = AccountFanout::new(context)?;
    let hub = fanout.hub();
    let accounts = account_flags.accounts(hub).await?;
    fanout
        .run(&accounts, DisplayMode::Progress, async |line| {
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
