//! `spindrift events`: events of one or many accounts, oldest first.

use std::{cell::RefCell, io::Write};

use anyhow::{bail, ensure};
use clap::Args;
use clap_complete::ArgValueCompleter;
use futures::TryStreamExt;
use jiff::Timestamp;
use serde_json::Value;
use spindrift_model::{List, Verb};
use spindrift_printer::{Layout, event_cells, event_time, json, tones};

use super::{
    Context,
    get::{mark, resolve, yaml},
    operate::{AccountFanout, AccountFlags, DisplayMode},
};
use crate::{
    complete,
    hub::{Client, Selection, WatchEvent},
};

const EXAMPLES: &str = "Examples:
  # List recent events in the default namespace of all accounts
  spindrift events

  # List recent events in all namespaces of an account
  spindrift events --all-namespaces -a eu-west

  # List recent events for the specified pod, then wait for more events and list
  # them as they arrive
  spindrift events --for pod/web-pod-13je7 --watch

  # List recent only events of type 'Warning'
  spindrift events --types=Warning";

/// Unlike commands that change objects, `events` reads all accounts by default.
const ACCOUNTS: &str =
    "A comma-separated list of accounts, or patterns such as 'eu-*'. Defaults to all accounts";

/// Display events.
///
/// Prints a table of the most important information about events, of all accounts unless you select some with --account.
/// You can request events for a namespace, for all namespaces, or filtered to only those pertaining to a specified
/// resource. Events are read live; --watch needs a hub that caches events.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    override_usage = "spindrift events [--for TYPE/NAME] [--watch] [--types=Normal,Warning] [options]",
    mut_arg("accounts", |arg| arg.help(ACCOUNTS))
)]
pub(crate) struct Events {
    #[command(flatten)]
    account_flags: AccountFlags,
    /// List the requested object(s) across all namespaces. --namespace is ignored even if specified.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Filter events to only those pertaining to the specified resource.
    #[arg(long = "for", value_name = "TYPE/NAME", add = ArgValueCompleter::new(complete::resources))]
    about: Option<String>,
    /// Output only events of given types.
    #[arg(long, value_delimiter = ',', value_name = "TYPE")]
    types: Vec<String>,
    /// After listing the requested events, watch for more events.
    #[arg(short, long)]
    watch: bool,
    /// Output format. One of: (json, yaml, name). Defaults to a table.
    #[arg(short, long, value_name = "FORMAT", value_parser = ["json", "yaml", "name"])]
    output: Option<String>,
    /// When using the default output format, don't print headers.
    #[arg(long)]
    no_headers: bool,
}

/// Event and its account.
type AccountEvent = (String, Value);

/// Writes events as rows; columns keep their widths.
struct EventPrinter<'a> {
    events: &'a Events,
    with_account: bool,
    color: bool,
    layout: Layout,
    headed: bool,
}

// === impl Events ===

impl Events {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        for name in &self.types {
            let is_known = name.eq_ignore_ascii_case("Normal") || name.eq_ignore_ascii_case("Warning");
            ensure!(is_known, "valid --types are Normal or Warning");
        }
        let fanout = AccountFanout::new(context)?;
        let accounts = self.account_flags.accounts_or_all(fanout.hub()).await?;
        let selector = self.field_selector(fanout.hub()).await?;
        let with_account = accounts.len() > 1;
        let mut printer = EventPrinter {
            events: &self,
            with_account,
            color: context.color,
            layout: Layout::default(),
            headed: false,
        };
        if self.watch {
            return self.follow(fanout.hub(), &accounts, selector, &mut printer).await;
        }
        let list = Verb::List(List {
            api_version: Some("v1".to_owned()),
            kind: "Event".to_owned(),
            namespace: self.namespace(),
            label_selector: None,
            field_selector: selector,
            anywhere: false,
        });
        let found = RefCell::new(Vec::new());
        let done = fanout
            .run(&accounts, DisplayMode::Progress, async |line| {
                let listed =
                    async { fanout.submit(line.account(), &list, None).await?.json::<Value>().await };
                match listed.await {
                    Ok(mut list) => {
                        let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
                        let account = line.account().to_owned();
                        let items = items.into_iter().filter(|event| self.is_wanted(event));
                        found.borrow_mut().extend(items.map(|event| (account.clone(), event)));
                    }
                    Err(error) => line.fail(&error.to_string()),
                }
                Ok(())
            })
            .await;
        let mut found = found.into_inner();
        found.sort_by_cached_key(|(account, event)| (event_time(event), account.clone()));
        if found.is_empty() && done.is_ok() {
            context.note(match self.namespace() {
                Some(namespace) => format!("No events found in {namespace} namespace."),
                None => "No events found.".to_owned(),
            });
        }
        printer.print(&found)?;
        done
    }

    fn namespace(&self) -> Option<String> {
        (!self.all_namespaces).then(|| self.account_flags.namespace().to_owned())
    }

    fn is_wanted(&self, event: &Value) -> bool {
        let of = event["type"].as_str().unwrap_or_default();
        self.types.is_empty() || self.types.iter().any(|name| name.eq_ignore_ascii_case(of))
    }

    /// Selector of the events of one object.
    async fn field_selector(&self, hub: &Client) -> anyhow::Result<Option<String>> {
        let Some(about) = &self.about else { return Ok(None) };
        let Some((kind, name)) = about.split_once('/') else { bail!("--for must be in resource/name form") };
        ensure!(!name.contains('/'), "arguments in resource/name form may not have more than one slash");
        let targets = resolve(hub, kind, &[name.to_owned()]).await?;
        let kind = targets.first().map(|target| target.resource.kind.clone()).unwrap_or_default();
        Ok(Some(format!("involvedObject.kind={kind},involvedObject.name={name}")))
    }

    /// Prints cached events, then new ones as they arrive.
    async fn follow(
        &self,
        hub: &Client,
        accounts: &[String],
        field_selector: Option<String>,
        printer: &mut EventPrinter<'_>,
    ) -> anyhow::Result<()> {
        let is_cached = hub.api_resources().await?.iter().any(|resource| resource.kind == "Event");
        ensure!(is_cached, "--watch needs a hub that caches events: add Event to kubesvc.cache.cacheKinds");
        let selection = Selection {
            account: Some(accounts.join(",")),
            kind: Some("Event.v1.".to_owned()),
            namespace: self.namespace(),
            field_selector,
            ..Selection::default()
        };
        let mut first = Some(Vec::new());
        let mut events = hub.watch(selection, None);
        while let Some(event) = events.try_next().await? {
            match event {
                WatchEvent::Upsert(object) => {
                    let value: Value = serde_json::from_str(object.object.get())?;
                    if !self.is_wanted(&value) {
                        continue;
                    }
                    match &mut first {
                        Some(listed) => listed.push((object.account, value)),
                        None => printer.print(&[(object.account, value)])?,
                    }
                }
                WatchEvent::Synced => {
                    let mut listed: Vec<AccountEvent> = first.take().unwrap_or_default();
                    listed.sort_by_cached_key(|(account, event)| (event_time(event), account.clone()));
                    printer.print(&listed)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

// === impl EventPrinter ===

impl EventPrinter<'_> {
    fn print(&mut self, events: &[AccountEvent]) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        match self.events.output.as_deref() {
            None => out.write_all(self.table(events).as_bytes())?,
            Some("name") => {
                for (_, event) in events {
                    writeln!(out, "event/{}", event["metadata"]["name"].as_str().unwrap_or_default())?;
                }
            }
            Some(format) => {
                let items: Vec<_> = events.iter().map(|event| self.document(event)).collect();
                if self.events.watch {
                    for item in items {
                        match format {
                            "yaml" => write!(out, "---\n{}", yaml(&item)?)?,
                            _ => writeln!(out, "{}", json::pretty(&item))?,
                        }
                    }
                } else {
                    let list = serde_json::json!({ "apiVersion": "v1", "items": items, "kind": "EventList", "metadata": {} });
                    match format {
                        "yaml" => out.write_all(yaml(&list)?.as_bytes())?,
                        _ => writeln!(out, "{}", json::pretty(&list))?,
                    }
                }
            }
        }
        Ok(out.flush()?)
    }

    fn document(&self, (account, event): &AccountEvent) -> Value {
        let mut event = event.clone();
        if let Some(fields) = event.as_object_mut() {
            fields.entry("kind").or_insert_with(|| "Event".into());
            fields.entry("apiVersion").or_insert_with(|| "v1".into());
        }
        if self.with_account {
            mark(&mut event, account);
        }
        event
    }

    fn table(&mut self, events: &[AccountEvent]) -> String {
        if events.is_empty() {
            return String::new();
        }
        let mut header: Vec<String> = Vec::new();
        header.extend(self.with_account.then(|| "ACCOUNT".to_owned()));
        header.extend(self.events.all_namespaces.then(|| "NAMESPACE".to_owned()));
        header.extend(["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"].map(str::to_owned));
        let now = Timestamp::now();
        let mut rows = Vec::new();
        if !std::mem::replace(&mut self.headed, true) && !self.events.no_headers {
            rows.push(header.clone());
        }
        for (account, event) in events {
            let mut row: Vec<String> = Vec::new();
            row.extend(self.with_account.then(|| account.clone()));
            let namespace = event["metadata"]["namespace"].as_str().unwrap_or_default();
            row.extend(self.events.all_namespaces.then(|| namespace.to_owned()));
            row.extend(event_cells(event, now));
            rows.push(row);
        }
        self.layout.fit(&rows);
        let tones = |row: &Vec<String>| if self.color { tones(&header, row) } else { Vec::new() };
        rows.iter().map(|row| self.layout.painted(row, &tones(row), None)).collect()
    }
}
