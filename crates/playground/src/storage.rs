//! Storage of a cluster: tables of compact JSON, and a short history of changes.
//!
//! ```text
//! put, remove ──▶ Table: path ─▶ bytes      ◀── snapshot(now)
//!            └──▶ History: the last changes ◀── snapshot(then) = now, with the changes since then undone
//!                                           ◀── changes(after)
//! ```
//!
//! Stored bytes have neither `apiVersion` nor `kind`: these depend on the version in which the object is served and are
//! prepended when it is sent. Table, history and pending responses share the bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::Notify;

use crate::catalogue::TableId;
use crate::object;

pub(crate) mod collection;
mod history;

pub use history::ChangeKind;
pub(crate) use history::{Event, History, Limits};

/// All objects of a cluster.
pub(crate) struct Store {
    /// Revision of the newest change; every change has its own.
    pub(crate) revision: u64,
    tables: HashMap<TableId, ObjectTable>,
    history: History,
    /// Dependents by the uid of their owner, each as table and path.
    owned: HashMap<Box<str>, BTreeSet<(TableId, Box<str>)>>,
}

#[derive(Default)]
struct ObjectTable {
    objects: BTreeMap<Box<str>, Bytes>,
    /// Revision of the newest change of this table that the history has dropped.
    floor: u64,
    changed: Arc<Notify>,
}

/// The requested revision is no longer in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RevisionGone {
    /// Oldest available revision.
    pub oldest: u64,
}

/// Reason why there are no changes to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangesError {
    Gone(RevisionGone),
    /// The collection no longer exists.
    Closed,
}

// === impl Store ===

impl Store {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { revision: 1, tables: HashMap::new(), history: History::new(limits), owned: HashMap::new() }
    }

    pub(crate) fn get(&self, table: &str, path: &str) -> Option<&Bytes> {
        self.tables.get(table)?.objects.get(path)
    }

    pub(crate) fn value(&self, table: &str, path: &str) -> Option<Value> {
        self.get(table, path).map(parse)
    }

    pub(crate) fn count(&self, table: &str) -> usize {
        self.tables.get(table).map_or(0, |table| table.objects.len())
    }

    /// Creates a table if it does not exist, so that watches can wait for it.
    pub(crate) fn open(&mut self, table: &TableId) {
        // A table of this name may have existed before, with changes that the history has dropped.
        let floor = self.history.forgotten();
        self.tables.entry(table.clone()).or_insert_with(|| ObjectTable { floor, ..ObjectTable::default() });
    }

    pub(crate) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Notifier of a table's changes; none for a table that was never opened or is closed.
    pub(crate) fn changed(&self, table: &str) -> Option<Arc<Notify>> {
        self.tables.get(table).map(|table| Arc::clone(&table.changed))
    }

    /// Drops a table whose kind is no longer served, after its objects were removed.
    pub(crate) fn close(&mut self, table: &str) {
        if let Some(table) = self.tables.remove(table) {
            table.changed.notify_waiters();
        }
    }

    /// Paths and bytes of a table, limited to one namespace by a prefix such as `default/`.
    pub(crate) fn scan<'a>(
        &'a self,
        table: &str,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Bytes)> + 'a {
        let objects = self.tables.get(table).map(|table| &table.objects);
        objects
            .into_iter()
            .flat_map(move |objects| {
                objects.range::<str, _>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded))
            })
            .map(|(path, bytes)| (&**path, bytes))
            .take_while(move |(path, _)| path.starts_with(prefix))
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &TableId> {
        self.tables.keys()
    }

    /// Stores an object under the next revision and adds the change to the history.
    pub(crate) fn put(&mut self, table: &TableId, path: &str, object: &mut Value) -> Bytes {
        self.revision += 1;
        let meta = object::metadata(object);
        meta.insert("resourceVersion".into(), self.revision.to_string().into());
        let bytes = serialize(object);
        let entry = self.tables.entry(table.clone()).or_default();
        let previous = entry.objects.insert(path.into(), bytes.clone());
        let kind = if previous.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        if let Some(previous) = &previous {
            self.disown(table, path, previous);
        }
        for owner in owners(object) {
            self.owned.entry(owner.into()).or_default().insert((table.clone(), path.into()));
        }
        self.remember(Event {
            revision: self.revision,
            table: table.clone(),
            path: path.into(),
            kind,
            object: bytes.clone(),
            previous,
        });
        bytes
    }

    /// Removes an object; watches see its last state with the revision of the removal.
    pub(crate) fn remove(&mut self, table: &TableId, path: &str) -> Option<Value> {
        let previous = self.tables.get_mut(table)?.objects.remove(path)?;
        self.disown(table, path, &previous);
        self.revision += 1;
        let mut object = parse(&previous);
        object::metadata(&mut object).insert("resourceVersion".into(), self.revision.to_string().into());
        self.remember(Event {
            revision: self.revision,
            table: table.clone(),
            path: path.into(),
            kind: ChangeKind::Deleted,
            object: serialize(&mut object),
            previous: Some(previous),
        });
        Some(object)
    }

    fn disown(&mut self, table: &TableId, path: &str, bytes: &Bytes) {
        if !contains(bytes, b"\"ownerReferences\"") {
            return;
        }
        let object = parse(bytes);
        for owner in owners(&object) {
            if let Some(places) = self.owned.get_mut(owner) {
                places.remove(&(table.clone(), path.into()));
                if places.is_empty() {
                    self.owned.remove(owner);
                }
            }
        }
    }

    /// Table and path of the objects that reference this owner.
    pub(crate) fn dependents(&self, owner: &str) -> Vec<(TableId, Box<str>)> {
        self.owned.get(owner).map(|places| places.iter().cloned().collect()).unwrap_or_default()
    }

    fn remember(&mut self, event: Event) {
        if let Some(table) = self.tables.get(&event.table) {
            table.changed.notify_waiters();
        }
        for (table, revision) in self.history.push(event) {
            if let Some(table) = self.tables.get_mut(&table) {
                table.floor = revision;
            }
        }
    }

    /// Drops the history, as a compaction does.
    pub(crate) fn compact(&mut self) {
        self.history.compact(self.revision);
        for table in self.tables.values() {
            table.changed.notify_waiters();
        }
    }

    /// Oldest revision from which the history of a table is complete.
    fn floor(&self, table: &str) -> u64 {
        let floor = self.tables.get(table).map_or(0, |table| table.floor);
        floor.max(self.history.compacted())
    }

    /// Changes of a table after a revision, at most `limit`, and the revision up to which they are complete.
    pub(crate) fn changes(
        &self,
        table: &str,
        after: u64,
        limit: usize,
    ) -> Result<(Vec<Event>, u64), ChangesError> {
        let oldest = self.floor(table);
        if after < oldest {
            return Err(ChangesError::Gone(RevisionGone { oldest }));
        }
        let events: Vec<Event> =
            self.history.after(after).filter(|event| &*event.table == table).take(limit).cloned().collect();
        // Changes before the end are returned before the end.
        if events.is_empty() && !self.has(table) {
            return Err(ChangesError::Closed);
        }
        let position = match events.last() {
            Some(last) if events.len() == limit => last.revision,
            _ => self.revision,
        };
        Ok((events, position))
    }

    /// Changes of all tables after a revision.
    pub(crate) fn all_changes(&self, after: u64, limit: usize) -> Result<Vec<Event>, RevisionGone> {
        let oldest = self.history.forgotten();
        if after < oldest {
            return Err(RevisionGone { oldest });
        }
        Ok(self.history.after(after).take(limit).cloned().collect())
    }

    /// All objects of a table, or of the namespace that is its prefix, as they were at a revision.
    pub(crate) fn snapshot(
        &self,
        table: &str,
        prefix: &str,
        at: u64,
    ) -> Result<Vec<(Box<str>, Bytes)>, RevisionGone> {
        let oldest = self.floor(table);
        if at < oldest {
            return Err(RevisionGone { oldest });
        }
        let mut objects: BTreeMap<&str, &Bytes> = self.scan(table, prefix).collect();
        // Undoes the newest change first, so that the oldest one determines the result.
        for event in self.history.after(at).rev().filter(|event| &*event.table == table) {
            match &event.previous {
                _ if !event.path.starts_with(prefix) => {}
                Some(previous) => drop(objects.insert(&event.path, previous)),
                None => drop(objects.remove(&*event.path)),
            }
        }
        Ok(objects.into_iter().map(|(path, bytes)| (path.into(), bytes.clone())).collect())
    }
}

/// Serializes an object without its type.
fn serialize(object: &mut Value) -> Bytes {
    let fields = object::fields(object);
    fields.remove("apiVersion");
    fields.remove("kind");
    serde_json::to_vec(fields).expect("JSON values have string keys").into()
}

/// Parses an object of the store.
pub(crate) fn parse(bytes: &Bytes) -> Value {
    serde_json::from_slice(bytes).expect("`put` serialized it")
}

fn owners(object: &Value) -> impl Iterator<Item = &str> {
    object::list(object, "/metadata/ownerReferences").iter().map(|owner| object::text(owner, "/uid"))
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}
