//! `spindrift describe`: details of objects with their events, in all accounts.

mod events;
mod related;

use std::io::Write;

use clap::Args;
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use serde_json::Value;
use spindrift_printer::{KindRef, RelatedObjects, Subject, describe};

use super::{
    AlreadyReported, Context,
    get::{Fetch, FetchedObject, QueryFlags, Target, resolve},
};
use crate::{
    complete,
    hub::{Client, Selection},
};
use events::{ObjectEvents, are_neighbours};
use related::fetch_related;

const EXAMPLES: &str = "Examples:
  # Describe a pod
  spindrift describe pods/web-0 -n shop -a eu-west

  # Describe a deployment in all accounts
  spindrift describe deployment web -n shop

  # Describe pods by label name=myLabel
  spindrift describe pods -l name=myLabel";

/// Show details of a specific resource or group of resources.
///
/// Print a detailed description of the selected resources, including related resources such as events. You may select
/// objects by name, all objects of that type, or a label selector. The objects come from the cache of the hub.
#[derive(Debug, Args)]
#[command(
    before_help = EXAMPLES,
    override_usage = "spindrift describe (TYPE [NAME ... | -l label] | TYPE/NAME ...) [options]"
)]
pub(crate) struct Describe {
    /// A resource type (pod, deploy, Widget.example.com), a comma-separated list of types, or TYPE/NAME.
    #[arg(value_name = "TYPE[/NAME]", add = ArgValueCompleter::new(complete::kinds))]
    kind: String,
    /// Names of objects, or further TYPE/NAME. Defaults to all objects of the type.
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(complete::names))]
    names: Vec<String>,
    #[command(flatten)]
    query: QueryFlags,
}

// === impl Describe ===

impl Describe {
    pub(crate) async fn run(mut self, context: &Context) -> anyhow::Result<()> {
        let hub = context.hub()?;
        self.query.expand(&hub).await?;
        let targets = resolve(&hub, &self.kind, &self.names).await?;
        targets.iter().filter_map(Target::live_note).for_each(|note| context.note(note));
        let cached = hub.api_resources().await?;
        let has_events = cached.iter().any(|resource| resource.kind == "Event");
        let fetch = Fetch { hub: &hub, query: &self.query, sort: None };
        let mut any = false;
        let mut missing = Vec::new();
        for target in &targets {
            let take = async |found: Vec<FetchedObject>| {
                for neighbours in found.chunk_by(are_neighbours) {
                    let mut events = None;
                    if has_events {
                        events = Some(ObjectEvents::of(&hub, target, neighbours).await?);
                    }
                    for object in neighbours {
                        let related = fetch_related(&hub, &cached, target, object).await?;
                        let events = events.as_ref().map(|events| events.about(object));
                        let page = page(target, object, &related, events);
                        // Two empty lines between objects, as kubectl.
                        let between = if std::mem::replace(&mut any, true) { "\n\n" } else { "" };
                        write!(std::io::stdout().lock(), "{between}{page}")?;
                    }
                }
                Ok(())
            };
            missing.extend(fetch.pages(target, take).await?);
        }
        if !any && missing.is_empty() {
            self.query.check_accounts(&hub).await?;
            context.note(self.query.nothing(&targets));
        }
        if missing.is_empty() {
            return Ok(());
        }
        self.query.check_accounts(&hub).await?;
        for not_found in missing {
            eprintln!("{not_found}");
        }
        Err(AlreadyReported.into())
    }
}

/// Describes one object, with its events if the hub has them; none if it does not exist.
pub(super) async fn describe_object(
    hub: &Client,
    kind: &str,
    name: &str,
    selection: Selection,
) -> anyhow::Result<Option<String>> {
    let name = name.to_owned();
    let targets = resolve(hub, kind, std::slice::from_ref(&name)).await?;
    let Some(target) = targets.first() else { return Ok(None) };
    let selection = Selection { kind: Some(kind.to_owned()), name: Some(name), ..selection };
    let Some(found) = hub.page(&selection, None).await?.items.into_iter().next() else { return Ok(None) };
    let found = [FetchedObject { account: found.account, value: serde_json::from_str(found.object.get())? }];
    let [object] = &found;
    let cached = hub.api_resources().await?;
    let related = fetch_related(hub, &cached, target, object).await?;
    let events = ObjectEvents::of(hub, target, &found).await.ok();
    Ok(Some(page(target, object, &related, events.as_ref().map(|events| events.about(object)))))
}

fn page(
    target: &Target,
    object: &FetchedObject,
    related: &RelatedObjects,
    events: Option<&[Value]>,
) -> String {
    let kind = KindRef { group: &target.resource.group, kind: &target.resource.kind };
    let FetchedObject { account, value } = object;
    describe(&Subject { kind, account, object: value, related, events, now: Timestamp::now() })
}
