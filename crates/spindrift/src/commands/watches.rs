//! `spindrift watches`: lists the watches of each account and their phase.

use clap::{Args, builder::NonEmptyStringValueParser};
use clap_complete::ArgValueCompleter;
use jiff::{SignedDuration, Timestamp};
use spindrift_printer::human_duration;

use super::{
    Context,
    listing::{ListFlags, ListItem, ListPrinter, or_none},
    operate::expand_accounts,
};
use crate::{complete, hub::WatchStatus};

const EXAMPLES: &str = "Examples:
  # List the watches of all accounts
  spindrift watches

  # List the watches of an account, with the reason of denied ones
  spindrift watches -a eu-west -o wide";

/// Display the watches of the agents.
///
/// Prints a table with one row for each watched resource type of each account: its phase, the number of cached objects,
/// and the age of the newest resource version.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift watches [-a ACCOUNT] [options]")]
pub(crate) struct Watches {
    /// A comma-separated list of accounts, or patterns such as 'eu-*'. Defaults to all accounts.
    #[arg(
        short,
        long,
        value_parser = NonEmptyStringValueParser::new(),
        add = ArgValueCompleter::new(complete::accounts)
    )]
    account: Option<String>,
    #[command(flatten)]
    show: ListFlags,
    /// After listing the requested objects, watch for changes.
    #[arg(short, long)]
    watch: bool,
}

// === impl Watches ===

impl Watches {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let hub = context.hub()?;
        let Self { account, show, watch } = self;
        let accounts: Vec<_> = account.iter().flat_map(|names| names.split(',')).map(str::to_owned).collect();
        let accounts = expand_accounts(&hub, &accounts).await?;
        let account = (!accounts.is_empty()).then(|| accounts.join(","));
        let mut listing = ListPrinter::new(show, context);
        if watch {
            return listing.watch(async || hub.watches(account.as_deref()).await, context).await;
        }
        let nothing = match &account {
            Some(account) => format!("No watches found of {account}; see: spindrift accounts"),
            None => "No watches found; see: spindrift agents".to_owned(),
        };
        listing.print(&hub.watches(account.as_deref()).await?, &nothing, context)
    }
}

// === impl WatchStatus ===

impl WatchStatus {
    fn group_kind(&self) -> String {
        if self.group.is_empty() { self.kind.clone() } else { format!("{}.{}", self.kind, self.group) }
    }
}

impl ListItem for WatchStatus {
    const COLUMNS: &[&str] =
        &["ACCOUNT", "KIND", "NAMESPACE", "PHASE", "OBJECTS", "AGE", "VERSION", "REACHED", "DENIED"];
    const NARROW: usize = 6;

    fn name(&self) -> String {
        let namespace =
            self.namespace.as_deref().map(|namespace| format!("/{namespace}")).unwrap_or_default();
        format!("{}/{}{namespace}", self.account, self.group_kind())
    }

    fn cells(&self, _: Timestamp) -> Vec<String> {
        let age = |age| human_duration(SignedDuration::from_secs(i64::try_from(age).unwrap_or(i64::MAX)));
        vec![
            self.account.clone(),
            self.group_kind(),
            self.namespace.clone().unwrap_or_else(|| "<all>".into()),
            self.phase.clone(),
            self.objects.to_string(),
            self.age.map_or_else(|| "<none>".into(), age),
            self.version.clone(),
            or_none(self.resource_version.as_deref()),
            or_none(self.denied.as_deref()),
        ]
    }

    fn change_marker(&self) -> String {
        format!("{} {} {}", self.phase, self.objects, self.version)
    }
}
