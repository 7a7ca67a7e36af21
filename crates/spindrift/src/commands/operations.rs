//! `spindrift operations`: lists, shows and cancels operations.

use std::io::Write;

use clap::{Args, Subcommand, builder::NonEmptyStringValueParser};
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use spindrift_model::{OperationId, Status};
use spindrift_printer::since;

use super::{
    Context,
    get::yaml,
    listing::{ListFlags, ListItem, ListPrinter, or_none},
    operate::expand_accounts,
};
use crate::{
    complete,
    hub::{OperationFilter, OperationRecord},
};

const EXAMPLES: &str = "Examples:
  # List the 10 newest operations of an account
  spindrift operations -a eu-west --limit 10

  # List operations whose outcome is unknown
  spindrift operations --state unknown

  # Show the details of an operation
  spindrift operations 01KA3V0T5W9Z1C7Q8R2M4N6P8S

  # Cancel an operation
  spindrift operations cancel 01KA3V0T5W9Z1C7Q8R2M4N6P8S";

const CANCEL_EXAMPLES: &str = "Examples:
  # Cancel an operation
  spindrift operations cancel 01KA3V0T5W9Z1C7Q8R2M4N6P8S";

/// Display or cancel operations.
///
/// An operation is one request to an account, such as one object of "spindrift apply". Prints a table of the operations
/// that the hub has recorded, newest first, or the details of one operation.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    override_usage = "spindrift operations [ID | -a ACCOUNT] [options]\n  spindrift operations cancel ID"
)]
pub(crate) struct Operations {
    #[command(subcommand)]
    action: Option<OperationsCommand>,
    /// Show the details of this operation.
    id: Option<OperationId>,
    /// A comma-separated list of accounts, or patterns such as 'eu-*'. Defaults to all accounts.
    #[arg(
        short,
        long = "account",
        value_delimiter = ',',
        value_name = "ACCOUNT",
        value_parser = NonEmptyStringValueParser::new(),
        add = ArgValueCompleter::new(complete::accounts)
    )]
    accounts: Vec<String>,
    /// List operations in this state. One of: (queued, sent, completed, failed, unknown, cancelled, expired).
    #[arg(long)]
    state: Option<String>,
    /// Maximum number of operations to list.
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    #[command(flatten)]
    show: ListFlags,
    /// After listing the requested objects, watch for changes.
    #[arg(short, long)]
    watch: bool,
}

#[derive(Debug, Subcommand)]
enum OperationsCommand {
    /// Cancel an operation.
    ///
    /// An operation that is already changing an object is not interrupted. The resulting state is printed.
    #[command(before_help = CANCEL_EXAMPLES, override_usage = "spindrift operations cancel ID")]
    Cancel {
        /// The id of the operation.
        id: OperationId,
    },
}

// === impl Operations ===

impl Operations {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let hub = context.hub()?;
        if let Some(OperationsCommand::Cancel { id }) = self.action {
            hub.cancel(&id.to_string()).await?;
            let record = hub.operation(&id.to_string()).await?;
            return Ok(writeln!(std::io::stdout().lock(), "operation/{id} {}", record.state)?);
        }
        if let Some(id) = self.id {
            let record = hub.operation(&id.to_string()).await?;
            if self.show.is_table() {
                return Ok(std::io::stdout().lock().write_all(yaml(&record)?.as_bytes())?);
            }
            return ListPrinter::new(self.show, context).print(&[record], "", context);
        }
        let Self { accounts, state, limit, watch, show, .. } = self;
        let accounts = expand_accounts(&hub, &accounts).await?;
        let ask = async || {
            let of = |account| OperationFilter { account, state: state.clone(), limit };
            if accounts.is_empty() {
                return hub.operations(&of(None)).await;
            }
            let mut found = Vec::new();
            for account in &accounts {
                found.extend(hub.operations(&of(Some(account.clone()))).await?);
            }
            // Ids sort by their creation time.
            found.sort_by(|left: &OperationRecord, right| right.id.cmp(&left.id));
            found.truncate(limit.map_or(usize::MAX, |limit| limit as usize));
            Ok(found)
        };
        let mut listing = ListPrinter::new(show, context);
        if watch {
            return listing.watch(ask, context).await;
        }
        listing.print(&ask().await?, "No operations found", context)
    }
}

// === impl OperationRecord ===

impl OperationRecord {
    /// Reason of the final state.
    fn why(&self) -> Option<String> {
        let status = self.status.clone().and_then(|status| serde_json::from_value::<Status>(status).ok());
        let message = status.map(|status| status.message).filter(|message| !message.is_empty());
        message.or_else(|| self.reason.clone())
    }
}

impl ListItem for OperationRecord {
    const COLUMNS: &[&str] =
        &["ID", "ACCOUNT", "VERB", "TARGET", "STATE", "TOOK", "AGE", "REASON", "CODE", "AGENT"];
    const NARROW: usize = 8;

    fn name(&self) -> String {
        self.id.clone()
    }

    fn cells(&self, now: Timestamp) -> Vec<String> {
        vec![
            self.id.clone(),
            self.account.clone(),
            self.verb.clone(),
            or_none(self.target.as_deref()),
            self.state.clone(),
            self.took_ms.map_or_else(|| "<none>".to_owned(), |took| format!("{took}ms")),
            since(now, &self.created_at),
            or_none(self.why().as_deref()),
            self.code.map_or_else(|| "<none>".to_owned(), |code| code.to_string()),
            or_none(self.agent.as_deref()),
        ]
    }

    fn change_marker(&self) -> String {
        format!("{} {:?} {:?}", self.state, self.sent_at, self.ended_at)
    }
}
