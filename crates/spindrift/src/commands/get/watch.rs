//! `--watch`: existing objects, then one row or document for each change; survives restarts of the hub.

use std::{
    collections::{HashMap, HashSet},
    io::Write,
    time::Duration,
};

use futures::TryStreamExt;
use jiff::Timestamp;
use serde_json::{Value, json};
use spindrift_printer::{json, since};

use super::{
    PrintFlags, TableScreen,
    documents::{marked, name},
    fetch::FetchedObject,
    output::{Output, yaml},
    rows::Rows,
    target::{QueryFlags, Target},
};
use crate::{
    commands::Context,
    hub::{Client, DeletedObject, Object, Page, Selection, WatchEvent},
};

pub(crate) struct Watch<'a> {
    pub(crate) hub: &'a Client,
    pub(crate) query: &'a QueryFlags,
    pub(crate) target: &'a Target,
    pub(crate) context: &'a Context,
    /// Set by `--watch-only`: existing objects are not printed.
    pub(crate) only: bool,
    /// Set by `--output-watch-events`: prints the type of each event.
    pub(crate) events: bool,
}

/// Interval at which a kind that is not cached is listed.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Account, namespace and name; the kind is the same for all.
type Key = (String, String, String);

/// Last printed state of an object; needed to detect duplicates and to print a deletion.
struct ShownObject {
    version: String,
    resource_version: String,
    uid: String,
    row: Vec<String>,
    created: String,
}

struct WatchPrinter<'a> {
    watch: &'a Watch<'a>,
    output: Output,
    rows: Rows<'a>,
    known: HashMap<Key, ShownObject>,
    /// Objects of an account after a reset that have not been sent again; at `Synced`, they are deleted.
    unconfirmed: HashSet<Key>,
}

// === impl Watch ===

impl Watch<'_> {
    pub(crate) async fn run(&self, output: Output, show: &PrintFlags) -> anyhow::Result<()> {
        let mut rows = Rows::new(output.clone(), show, self.query, TableScreen::of(self.context));
        if output.is_table() {
            rows.begin(self.hub, self.target, false).await?;
        }
        let (known, unconfirmed) = (HashMap::new(), HashSet::new());
        let mut printed = WatchPrinter { watch: self, output, rows, known, unconfirmed };
        // The hub can watch one name or all names.
        let names = &self.target.names;
        let name = names.first().filter(|_| names.len() == 1).map(String::as_str);
        let selection = self.query.selection(&self.target.resource, name);
        let mut position = None;
        let mut pages = std::pin::pin!(self.hub.pages(selection.clone()));
        while let Some(Page { items, position: at, .. }) = pages.try_next().await? {
            position.get_or_insert(at);
            let items: Vec<_> = items.into_iter().filter(|object| self.is_meant(&object.name)).collect();
            printed.listed(items)?;
        }
        printed.rows.note_hidden(self.context);
        if printed.known.is_empty() {
            self.query.check_accounts(self.hub).await?;
        }
        if !self.target.resource.cached {
            return self.poll(&selection, &mut printed).await;
        }
        let mut events = self.hub.watch(selection, position);
        while let Some(event) = events.try_next().await? {
            match event {
                WatchEvent::Upsert(object) if self.is_meant(&object.name) => printed.upsert(object)?,
                WatchEvent::Delete(deleted) if self.is_meant(&deleted.name) => printed.delete(&deleted)?,
                // Another name than the requested ones.
                WatchEvent::Upsert(_) | WatchEvent::Delete(_) => {}
                WatchEvent::Reset { account } => printed.reset(&account),
                WatchEvent::Synced => printed.synced()?,
                WatchEvent::Lost(error) => {
                    self.context.note(format_args!("connection to the hub lost, retrying ({error})"));
                }
                WatchEvent::Back => self.context.note("reconnected to the hub; no changes were missed"),
            }
        }
        Ok(())
    }

    /// Watches a kind that the hub does not cache: lists it again and again, and prints what has changed. An account that
    /// cannot be read keeps the objects it had.
    async fn poll(&self, selection: &Selection, printed: &mut WatchPrinter<'_>) -> anyhow::Result<()> {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let (mut found, mut unread) = (Vec::new(), HashSet::new());
            let mut pages = std::pin::pin!(self.hub.pages(selection.clone()));
            while let Some(Page { items, problems, .. }) = pages.try_next().await? {
                found.extend(items.into_iter().filter(|object| self.is_meant(&object.name)));
                unread.extend(problems.into_iter().map(|problem| problem.account));
            }
            let accounts: HashSet<_> = printed.known.keys().map(|(account, ..)| account.clone()).collect();
            for account in accounts.difference(&unread) {
                printed.reset(account);
            }
            for object in found {
                printed.upsert(object)?;
            }
            printed.synced()?;
        }
    }

    fn is_meant(&self, name: &str) -> bool {
        self.target.names.is_empty() || self.target.names.iter().any(|wanted| wanted == name)
    }
}

// === impl WatchPrinter ===

impl WatchPrinter<'_> {
    /// Prints a page of existing objects, with columns that fit all of them.
    fn listed(&mut self, items: Vec<Object>) -> anyhow::Result<()> {
        let mut rows = Vec::new();
        for object in items {
            let key = key(&object.account, &object.namespace, &object.name);
            let (shown, value) = self.parse_object(object)?;
            if self.output.is_table() {
                rows.push(shown.row.clone());
            } else if !self.watch.only {
                self.document("ADDED", &key, value)?;
            }
            self.known.insert(key, shown);
        }
        if self.watch.only || rows.is_empty() {
            return Ok(());
        }
        self.rows.write(rows, self.watch.events.then_some("ADDED"))
    }

    fn upsert(&mut self, object: Object) -> anyhow::Result<()> {
        if object.group != self.watch.target.resource.group {
            return Ok(());
        }
        let key = key(&object.account, &object.namespace, &object.name);
        self.unconfirmed.remove(&key);
        let before = self.known.get(&key);
        // After a reconnect, the hub may send known versions again.
        if before
            .is_some_and(|shown| shown.uid == object.uid && shown.resource_version == object.resource_version)
        {
            return Ok(());
        }
        let event = if before.is_some() { "MODIFIED" } else { "ADDED" };
        let (shown, value) = self.parse_object(object)?;
        if self.output.is_table() {
            self.rows.write(vec![shown.row.clone()], self.watch.events.then_some(event))?;
        } else {
            self.document(event, &key, value)?;
        }
        self.known.insert(key, shown);
        Ok(())
    }

    fn delete(&mut self, deleted: &DeletedObject) -> anyhow::Result<()> {
        let DeletedObject { account, group, kind, namespace, name } = deleted;
        let resource = &self.watch.target.resource;
        let key = key(account, namespace, name);
        // Deletions of the last object of a kind are sent to all watches.
        let is_meant = *group == resource.group && *kind == resource.kind;
        // Ignores the uid: a re-created object that no longer matches is reported by its new uid.
        if is_meant { self.gone(&key) } else { Ok(()) }
    }

    /// Prints the last known state of a deleted object.
    fn gone(&mut self, key: &Key) -> anyhow::Result<()> {
        self.unconfirmed.remove(key);
        let Some(mut shown) = self.known.remove(key) else { return Ok(()) };
        if self.output.is_table() {
            let header = self.rows.header();
            let age = header.iter().rposition(|column| column == "AGE").and_then(|at| shown.row.get_mut(at));
            if let Some(age) = age {
                *age = since(Timestamp::now(), &shown.created);
            }
            return self.rows.write(vec![shown.row], self.watch.events.then_some("DELETED"));
        }
        let (_, namespace, name) = key;
        let resource = &self.watch.target.resource;
        let api_version = match resource.group.as_str() {
            "" => shown.version,
            group => format!("{group}/{}", shown.version),
        };
        let mut metadata = json!({ "name": name, "uid": shown.uid, "creationTimestamp": shown.created });
        if !namespace.is_empty() {
            metadata["namespace"] = namespace.as_str().into();
        }
        let value = json!({ "apiVersion": api_version, "kind": resource.kind, "metadata": metadata });
        self.document("DELETED", key, value)
    }

    fn reset(&mut self, account: &str) {
        self.unconfirmed.extend(self.known.keys().filter(|(known, ..)| known == account).cloned());
    }

    /// All existing objects have been sent again.
    fn synced(&mut self) -> anyhow::Result<()> {
        for key in std::mem::take(&mut self.unconfirmed) {
            self.gone(&key)?;
        }
        Ok(())
    }

    fn parse_object(&self, object: Object) -> anyhow::Result<(ShownObject, Value)> {
        let Object { version, resource_version, uid, .. } = object.clone();
        let FetchedObject { account, value } = FetchedObject::try_from(object)?;
        let created = value.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
        let created = created.unwrap_or_default().to_owned();
        let mut row = Vec::new();
        if self.output.is_table() {
            row = self.rows.cells(&account, &value, Timestamp::now())?;
        }
        Ok((ShownObject { version, resource_version, uid, row, created }, value))
    }

    fn document(&self, event: &str, (account, ..): &Key, value: Value) -> anyhow::Result<()> {
        let value = marked(FetchedObject { account: account.clone(), value }, self.watch.query);
        let mut out = std::io::stdout().lock();
        match &self.output {
            Output::Name => writeln!(out, "{}", name(self.watch.target, &value))?,
            Output::JsonPath(path) => write!(out, "{}", path.render(&value)?)?,
            output => {
                let document =
                    if self.watch.events { json!({ "type": event, "object": value }) } else { value };
                match output {
                    Output::Yaml => write!(out, "---\n{}", yaml(&document)?)?,
                    _ => writeln!(out, "{}", json::pretty(&document))?,
                }
            }
        }
        Ok(out.flush()?)
    }
}

fn key(account: &str, namespace: &str, name: &str) -> Key {
    (account.to_owned(), namespace.to_owned(), name.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;
    use crate::hub::ApiResource;

    #[test]
    fn a_recreated_object_that_no_longer_matches_is_deleted() {
        let words = QueryFlags::augment_args(clap::Command::new("get")).get_matches_from(["get"]);
        let query = QueryFlags::from_arg_matches(&words).unwrap();
        let hub = Client::new("http://localhost".parse().unwrap()).unwrap();
        let context = Context { hub: None, quiet: true, color: false };
        let resource: ApiResource = serde_json::from_value(json!({
            "group": "", "version": "v1", "kind": "Pod", "plural": "pods", "namespaced": true, "shortNames": [],
            "accounts": 1,
        }))
        .unwrap();
        let target = Target { resource, names: Vec::new() };
        let watch = Watch {
            hub: &hub,
            query: &query,
            target: &target,
            context: &context,
            only: false,
            events: false,
        };
        let show = PrintFlags {
            output: None,
            no_headers: false,
            labels: false,
            label_columns: Vec::new(),
            with_kind: false,
        };
        let mut printed = WatchPrinter {
            watch: &watch,
            output: Output::Name,
            rows: Rows::new(Output::Name, &show, &query, TableScreen::default()),
            known: HashMap::new(),
            unconfirmed: HashSet::new(),
        };
        let object = r#"{"account":"eu","group":"","version":"v1","kind":"Pod","namespace":"shop","name":"web","uid":"old",
            "resourceVersion":"1","object":{"metadata":{"name":"web","namespace":"shop"}}}"#;
        printed.upsert(serde_json::from_str(object).unwrap()).unwrap();
        let gone = |kind: &str| -> DeletedObject {
            serde_json::from_value(json!({
                "account": "eu", "group": "", "kind": kind, "namespace": "shop", "name": "web", "uid": "new",
            }))
            .unwrap()
        };
        printed.delete(&gone("Service")).unwrap();
        assert_eq!(printed.known.len(), 1, "another kind's name is no matter");
        printed.delete(&gone("Pod")).unwrap();
        assert!(printed.known.is_empty());
    }
}
