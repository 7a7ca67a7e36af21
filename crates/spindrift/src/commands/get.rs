//! `spindrift get`: objects of all accounts, as kubectl prints them.
//!
//! ```text
//! args ──▶ target ─▶ fetch (pages) ─┬─▶ rows        tables, one per kind
//!                                   └─▶ documents   json, yaml, name, jsonpath
//!          -w: watch ─▶ a row or a document per change
//! ```

mod documents;
mod fetch;
mod output;
mod rows;
mod stale;
mod target;
mod watch;

use std::io::{IsTerminal, Write};

use anyhow::bail;
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde_json::Value;
use spindrift_printer::SortKey;

use self::{documents::Documents, output::Output, rows::Rows, stale::StaleAccounts, watch::Watch};
use super::{AlreadyReported, Context};
use crate::{
    complete,
    hub::{ApiResource, Client, Selection},
};
pub(crate) use documents::mark;
pub(crate) use fetch::{Fetch, FetchedObject};
pub(crate) use output::yaml;
pub(crate) use target::{QueryFlags, Target, check_accounts, resolve};

const EXAMPLES: &str = "Examples:
  # List all pods in namespace default, in all accounts
  spindrift get pods

  # List all pods in all namespaces of one account, with more information
  spindrift get pods -A -a eu-west -o wide

  # List a single deployment in JSON output format
  spindrift get deployment web -n shop -a eu-west -o json

  # List deployments and services with the label app=web together
  spindrift get deploy,svc -l app=web

  # List resource information in custom columns
  spindrift get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName

  # Watch pods in all namespaces
  spindrift get pods -A --watch";

/// Display one or many resources.
///
/// Prints a table of the most important information about the specified resources, of all accounts unless you select
/// some with --account. You can filter the list using a label selector and the --selector flag. If the desired resource
/// type is namespaced you will only see results in namespace "default" if you don't specify any namespace.
///
/// The objects come from the cache of the hub. Use "spindrift api-resources" for a list of cached resources.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    override_usage = "spindrift get (TYPE[.VERSION][.GROUP] [NAME ... | -l label] | TYPE/NAME ...) [options]"
)]
pub(crate) struct Get {
    /// A resource type (pods, po, Deployment.apps), a comma-separated list of types, or TYPE/NAME.
    #[arg(value_name = "TYPE[/NAME]", add = ArgValueCompleter::new(complete::kinds))]
    kind: String,
    /// Names of objects, or further TYPE/NAME.
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(complete::names))]
    names: Vec<String>,
    #[command(flatten)]
    query: QueryFlags,
    #[command(flatten)]
    show: PrintFlags,
    /// After listing/getting the requested object, watch for changes.
    #[arg(short, long)]
    watch: bool,
    /// Watch for changes to the requested object(s), without listing/getting first.
    #[arg(long)]
    watch_only: bool,
    /// Output watch event objects when --watch or --watch-only is used. Existing objects are output as initial ADDED
    /// events.
    #[arg(long)]
    output_watch_events: bool,
    /// If the requested object does not exist the command will return exit code 0.
    #[arg(long)]
    ignore_not_found: bool,
    /// Sort by this field specification, a JSONPath expression (e.g. '{.metadata.creationTimestamp}').
    #[arg(long, value_name = "JSONPATH")]
    sort_by: Option<String>,
}

/// Flags of the output format.
#[derive(Debug, Args)]
pub(crate) struct PrintFlags {
    /// Output format. One of: (wide, json, yaml, name, jsonpath=..., custom-columns=...). Defaults to a table.
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<String>,
    /// When using the default or custom-column output format, don't print headers (default print headers).
    #[arg(long)]
    no_headers: bool,
    /// When printing, show all labels as the last column (default hide labels column).
    #[arg(long = "show-labels")]
    labels: bool,
    /// Accepts a comma separated list of labels that are going to be presented as columns. Names are case-sensitive.
    #[arg(short = 'L', long, value_delimiter = ',', value_name = "LABEL")]
    label_columns: Vec<String>,
    /// List the resource type for the requested object(s).
    #[arg(long = "show-kind")]
    with_kind: bool,
}

// === impl Get ===

impl Get {
    pub(crate) async fn run(mut self, context: &Context) -> anyhow::Result<()> {
        let output = Output::parse(self.show.output.as_deref())?;
        let sort = self.sort_by.as_deref().map(SortKey::parse).transpose()?;
        let hub = context.hub()?;
        self.query.expand(&hub).await?;
        let targets = resolve(&hub, &self.kind, &self.names).await?;
        targets.iter().filter_map(Target::live_note).for_each(|note| context.note(note));
        if self.watch || self.watch_only {
            let [target] = &targets[..] else { bail!("you may only specify a single resource type") };
            if sort.is_some() {
                context.note("warning: --watch requested, --sort-by will be ignored");
            }
            let events = self.output_watch_events;
            let watch =
                Watch { hub: &hub, query: &self.query, target, context, only: self.watch_only, events };
            return watch.run(output, &self.show).await;
        }
        let fetch = Fetch { hub: &hub, query: &self.query, sort };
        let missing = if output.is_table() {
            self.rows(&fetch, &targets, output, context).await?
        } else {
            self.documents(&fetch, &targets, output).await?
        };
        if missing.is_empty() || self.ignore_not_found {
            return Ok(());
        }
        self.query.check_accounts(&hub).await?;
        for not_found in missing {
            eprintln!("{not_found}");
        }
        Err(AlreadyReported.into())
    }

    /// Prints tables, page by page; returns an error text for each object that was not found.
    async fn rows(
        &self,
        fetch: &Fetch<'_>,
        targets: &[Target],
        output: Output,
        context: &Context,
    ) -> anyhow::Result<Vec<String>> {
        let mut missing = Vec::new();
        let stale = StaleAccounts::of(fetch.hub).await;
        let mut rows = Rows::new(output, &self.show, &self.query, TableScreen::of(context));
        rows.mark(&stale);
        for target in targets {
            rows.begin(fetch.hub, target, targets.len() > 1).await?;
            missing.extend(fetch.pages(target, async |page| rows.page(&page)).await?);
        }
        rows.note_hidden(context);
        stale.note_shown(context);
        if !rows.any() && missing.is_empty() {
            self.query.check_accounts(fetch.hub).await?;
            context.note(self.query.nothing(targets));
        }
        Ok(missing)
    }

    /// Prints documents, page by page where possible; returns an error text for each object that was not found.
    async fn documents(
        &self,
        fetch: &Fetch<'_>,
        targets: &[Target],
        output: Output,
    ) -> anyhow::Result<Vec<String>> {
        let names_one =
            |target: &Target| target.names.len() == 1 && !self.query.shows_namespace(&target.resource);
        let is_one = matches!(targets, [target] if names_one(target));
        let mut missing = Vec::new();
        let mut documents = Documents::new(output, &self.query, is_one);
        for target in targets {
            missing.extend(fetch.pages(target, async |page| documents.page(target, page)).await?);
        }
        if !documents.any() && missing.is_empty() {
            self.query.check_accounts(fetch.hub).await?;
        }
        documents.end()?;
        std::io::stdout().flush()?;
        Ok(missing)
    }
}

/// Properties of the terminal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TableScreen {
    /// Width, or `None` if stdout is not a terminal.
    width: Option<usize>,
    color: bool,
}

// === impl TableScreen ===

impl TableScreen {
    pub(crate) fn of(context: &Context) -> Self {
        let size = std::io::stdout().is_terminal().then(ratatui::crossterm::terminal::size);
        let width =
            size.and_then(Result::ok).map(|(columns, _)| usize::from(columns)).filter(|width| *width > 0);
        Self { width, color: context.color }
    }
}

/// CustomResourceDefinition of a kind, of the first account that has one.
pub(crate) async fn definition(hub: &Client, resource: &ApiResource) -> anyhow::Result<Option<Value>> {
    let selection = Selection {
        kind: Some("CustomResourceDefinition.apiextensions.k8s.io".to_owned()),
        name: Some(format!("{}.{}", resource.plural, resource.group)),
        limit: Some(1),
        ..Selection::default()
    };
    let page = hub.page(&selection, None).await?;
    Ok(page.items.first().map(|object| serde_json::from_str(object.object.get())).transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Get::augment_args(clap::Command::new("get")).debug_assert();
    }
}
