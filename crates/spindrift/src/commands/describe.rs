//! `spindrift describe`: pages about objects, wherever they are.

use std::io::Write;

use clap::Args;
use clap_complete::ArgValueCompleter;
use jiff::Timestamp;
use serde_json::Value;
use spindrift_printer::{KindRef, Subject, describe};

use super::{
    Context, Reported,
    get::{Fetch, Scope, Target, resolve},
};
use crate::{
    complete,
    hub::{Client, Selection},
};

/// Describes objects of all clusters.
#[derive(Debug, Args)]
pub(crate) struct Describe {
    /// A kind (pod, deploy, Widget.example.com), several joined by commas, or kind/name.
    #[arg(value_name = "KIND[/NAME]", add = ArgValueCompleter::new(complete::kinds))]
    kind: String,
    /// Names of objects, or further kind/name; all objects of the kind if absent.
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(complete::names))]
    names: Vec<String>,
    #[command(flatten)]
    scope: Scope,
}

/// Events of one object that are shown: the newest matter.
const EVENTS: u32 = 100;

// === impl Describe ===

impl Describe {
    pub(crate) async fn run(self, context: &Context) -> anyhow::Result<()> {
        let hub = context.hub()?;
        let targets = resolve(&hub, &self.kind, &self.names).await?;
        let knows_events = hub.api_resources().await?.iter().any(|resource| resource.kind == "Event");
        let fetch = Fetch { hub: &hub, scope: &self.scope, sort: None };
        let mut any = false;
        let mut missing = Vec::new();
        for target in &targets {
            let mut found = Vec::new();
            let take = &mut |page| {
                found.extend(page);
                Ok(())
            };
            missing.extend(fetch.pages(target, take).await?);
            for object in found {
                let mut events = None;
                if knows_events {
                    events = Some(events_of(&hub, &object.account, &object.value).await?);
                }
                let page = page(target, &object.account, &object.value, events.as_deref());
                // Pages stand apart.
                let between = if std::mem::replace(&mut any, true) { "\n\n" } else { "" };
                write!(std::io::stdout().lock(), "{between}{page}")?;
            }
        }
        if !any && missing.is_empty() {
            self.scope.check_accounts(&hub).await?;
            context.note(self.scope.nothing(&targets));
        }
        if missing.is_empty() {
            return Ok(());
        }
        self.scope.check_accounts(&hub).await?;
        for not_found in missing {
            eprintln!("{not_found}");
        }
        Err(Reported.into())
    }
}

fn page(target: &Target, account: &str, object: &Value, events: Option<&[Value]>) -> String {
    let kind = KindRef { group: &target.resource.group, kind: &target.resource.kind };
    describe(&Subject { kind, account, object, events, now: Timestamp::now() })
}

/// The events of an object: of its namespace, by its uid, or by its name where an event does not know the uid.
async fn events_of(hub: &Client, account: &str, object: &Value) -> anyhow::Result<Vec<Value>> {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (kind, name, uid) = (text("/kind"), text("/metadata/name"), text("/metadata/uid"));
    let selection = Selection {
        account: Some(account.to_owned()),
        kind: Some("Event.v1.".to_owned()),
        namespace: Some(text("/metadata/namespace").to_owned()).filter(|namespace| !namespace.is_empty()),
        field_selector: Some(format!("involvedObject.kind={kind},involvedObject.name={name}")),
        limit: Some(EVENTS),
        ..Selection::default()
    };
    let page = hub.page(&selection, None).await?;
    let mut events = Vec::new();
    for event in page.items {
        let event: Value = serde_json::from_str(event.object.get())?;
        let about = event.pointer("/involvedObject/uid").and_then(Value::as_str);
        // Another object may have had the name before.
        if about.is_none_or(|about| about == uid) {
            events.push(event);
        }
    }
    Ok(events)
}
