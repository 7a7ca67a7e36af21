//! `spindrift top`: resource usage of pods and nodes, in all accounts.

mod usage;

use std::{cell::RefCell, cmp::Reverse, collections::BTreeMap, io::Write};

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;
use serde_json::Value;
use spindrift_model::{List, Top as TopVerb, Verb};
use spindrift_printer::Layout;

use self::usage::{Amount, Usage, node_rows, pod_rows};
use super::{
    Context,
    operate::{AccountFanout, AccountFlags, DisplayMode, OperationError},
};
use crate::complete;

const EXAMPLES: &str = "Examples:
  # Show metrics for the pods of namespace shop in all accounts
  spindrift top pods -n shop

  # Show metrics for all nodes of an account
  spindrift top nodes -a eu-west";

const POD_EXAMPLES: &str = "Examples:
  # Show metrics for all pods in the default namespace of all accounts
  spindrift top pods

  # Show metrics for all pods of an account, sorted by memory
  spindrift top pods -A -a eu-west --sort-by=memory

  # Show metrics for a given pod and its containers
  spindrift top pods web-0 -n shop -a eu-west --containers

  # Show metrics for the pods defined by label name=myLabel
  spindrift top pods -l name=myLabel";

const NODE_EXAMPLES: &str = "Examples:
  # Show metrics for all nodes of all accounts
  spindrift top nodes

  # Show metrics for a given node
  spindrift top nodes node-a -a eu-west";

/// Unlike commands that change objects, `top` reads all accounts by default.
const ACCOUNTS: &str =
    "A comma-separated list of accounts, or patterns such as 'eu-*'. Defaults to all accounts";

/// Display resource (CPU/memory) usage.
///
/// The top command allows you to see the resource consumption for nodes or pods. It requires a metrics server in the
/// clusters.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, override_usage = "spindrift top (pods | nodes) [options]")]
pub(crate) struct Top {
    #[command(subcommand)]
    action: TopCommand,
}

#[derive(Debug, Subcommand)]
enum TopCommand {
    /// Display resource (CPU/memory) usage of pods.
    ///
    /// Due to the metrics pipeline delay, they may be unavailable for a few minutes since pod creation.
    #[command(
        visible_aliases = ["pod", "po"],
        before_help = POD_EXAMPLES,
        override_usage = "spindrift top pods [NAME | -l label] [options]",
        mut_arg("accounts", |arg| arg.help(ACCOUNTS))
    )]
    Pods(Pods),
    /// Display resource (CPU/memory) usage of nodes.
    #[command(
        visible_aliases = ["node", "no"],
        before_help = NODE_EXAMPLES,
        override_usage = "spindrift top nodes [NAME | -l label] [options]",
        mut_arg("accounts", |arg| arg.help(ACCOUNTS))
    )]
    Nodes(Nodes),
}

#[derive(Debug, Args)]
struct Pods {
    /// Show metrics for this pod only.
    #[arg(add = ArgValueCompleter::new(complete::pods))]
    name: Option<String>,
    #[command(flatten)]
    common: Common,
    /// List the requested object(s) across all namespaces. --namespace is ignored even if specified.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Print usage of containers within a pod.
    #[arg(long)]
    containers: bool,
}

#[derive(Debug, Args)]
struct Nodes {
    /// Show metrics for this node only.
    name: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    account_flags: AccountFlags,
    /// Selector (label query) to filter on, supports '=', '==', '!=', 'in' and 'notin' (e.g. -l key1=value1,key2=value2).
    /// Matching objects must satisfy all of the specified label constraints.
    #[arg(short = 'l', long, conflicts_with = "name")]
    selector: Option<String>,
    /// Sort the list by this field, in descending order. Defaults to the name.
    #[arg(long, value_enum, value_name = "FIELD")]
    sort_by: Option<SortBy>,
    /// Print output without headers.
    #[arg(long)]
    no_headers: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SortBy {
    Cpu,
    Memory,
}

// === impl Top ===

impl Top {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        match self.action {
            TopCommand::Pods(pods) => pods.run(context).await,
            TopCommand::Nodes(nodes) => nodes.run(context).await,
        }
    }
}

// === impl Pods ===

impl Pods {
    async fn run(self, context: &Context) -> anyhow::Result<()> {
        let Self { name, common, all_namespaces, containers } = &self;
        let namespace = (!all_namespaces).then(|| common.account_flags.namespace().to_owned());
        let columns: Vec<_> = [("NAMESPACE", *all_namespaces), ("POD", *containers)]
            .into_iter()
            .filter_map(|(column, is_shown)| is_shown.then_some(column))
            .chain(["NAME", "CPU(cores)", "MEMORY(bytes)"])
            .collect();
        let nothing = match &namespace {
            Some(namespace) => format!("No resources found in {namespace} namespace."),
            None => "No resources found".to_owned(),
        };
        common
            .run(context, &columns, &nothing, async |fanout, account| {
                let verb = common.verb("pods", namespace.clone(), name.clone());
                let metrics = items(fanout.submit(account, &verb, None).await?.json().await?);
                Ok(pod_rows(&metrics, *all_namespaces, *containers))
            })
            .await
    }
}

// === impl Nodes ===

impl Nodes {
    async fn run(self, context: &Context) -> anyhow::Result<()> {
        let Self { name, common } = &self;
        let columns = ["NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"];
        common
            .run(context, &columns, "No resources found", async |fanout, account| {
                let verb = common.verb("nodes", None, name.clone());
                let metrics = items(fanout.submit(account, &verb, None).await?.json().await?);
                let list = Verb::List(List {
                    api_version: Some("v1".to_owned()),
                    kind: "Node".to_owned(),
                    namespace: None,
                    label_selector: common.selector.clone(),
                    field_selector: name.as_ref().map(|name| format!("metadata.name={name}")),
                    anywhere: false,
                });
                let nodes = items(fanout.submit(account, &list, None).await?.json().await?);
                Ok(node_rows(&metrics, &nodes))
            })
            .await
    }
}

// === impl Common ===

impl Common {
    fn verb(&self, kind: &str, namespace: Option<String>, name: Option<String>) -> Verb {
        let label_selector = self.selector.clone();
        Verb::Top(TopVerb { kind: kind.to_owned(), namespace, name, label_selector, anywhere: false })
    }

    /// Requests the usage from all accounts, and prints one table when all have responded.
    async fn run(
        &self,
        context: &Context,
        columns: &[&str],
        nothing: &str,
        rows: impl AsyncFn(&AccountFanout<'_>, &str) -> Result<Vec<Usage>, OperationError>,
    ) -> anyhow::Result<()> {
        let fanout = AccountFanout::new(context)?;
        let accounts = self.account_flags.accounts_or_all(fanout.hub()).await?;
        let found = RefCell::new(BTreeMap::new());
        let done = fanout
            .run(&accounts, DisplayMode::Progress, async |line| {
                match rows(&fanout, line.account()).await {
                    Ok(rows) => {
                        found.borrow_mut().insert(line.account().to_owned(), rows);
                    }
                    Err(error) => line.fail(&error.to_string()),
                }
                Ok(())
            })
            .await;
        let found = found.into_inner();
        let is_empty = found.values().all(Vec::is_empty);
        if is_empty && done.is_ok() {
            context.note(nothing);
        } else if !is_empty {
            std::io::stdout().lock().write_all(self.table(columns, found, accounts.len() > 1).as_bytes())?;
        }
        done
    }

    fn table(&self, columns: &[&str], found: BTreeMap<String, Vec<Usage>>, with_account: bool) -> String {
        let mut usages: Vec<_> = found
            .into_iter()
            .flat_map(|(account, rows)| rows.into_iter().map(move |row| (account.clone(), row)))
            .collect();
        // Stable sort: equal rows stay sorted by name, and the containers of a pod stay together.
        if let Some(sort_by) = self.sort_by {
            usages.sort_by_key(|(_, usage)| Reverse(sort_by.of(usage.amount)));
            for (_, usage) in &mut usages {
                usage.lines.sort_by_key(|line| Reverse(sort_by.of(line.amount)));
            }
        }
        let lines = usages.into_iter().flat_map(|(account, usage)| {
            usage.lines.into_iter().map(move |line| (account.clone(), line.cells))
        });
        let header = (!self.no_headers)
            .then(|| ("ACCOUNT".to_owned(), columns.iter().map(ToString::to_string).collect()));
        let rows: Vec<_> = header
            .into_iter()
            .chain(lines)
            .map(|(account, cells): (String, Vec<String>)| {
                let account = with_account.then_some(account);
                // kubectl pads the last column too.
                account.into_iter().chain(cells).chain([String::new()]).collect()
            })
            .collect();
        Layout::default().lines(&rows)
    }
}

// === impl SortBy ===

impl SortBy {
    fn of(self, amount: Amount) -> i64 {
        match self {
            Self::Cpu => amount.millicores,
            Self::Memory => amount.bytes,
        }
    }
}

/// Items of a list, or the object itself.
fn items(mut answer: Value) -> Vec<Value> {
    match answer.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        Some(_) => Vec::new(),
        None => vec![answer],
    }
}
