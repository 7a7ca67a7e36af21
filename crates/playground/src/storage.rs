//! Where the objects of a cluster are: tables of compact JSON, and a short memory of what changed.
//!
//! ```text
//! put, remove ──▶ Table: path ─▶ bytes      ◀── snapshot(now)
//!            └──▶ History: the last changes ◀── snapshot(then) = now, with the changes since then undone
//!                                           ◀── changes(after)
//! ```
//!
//! An object's bytes have neither `apiVersion` nor `kind`: these belong to the version in which it is served and are
//! written in front when it is sent. The bytes are shared between table, history and everything that is being sent.

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
    /// The version of the newest change; every change has its own.
    pub(crate) revision: u64,
    tables: HashMap<TableId, Table>,
    history: History,
    /// Who is owned by whom: the uid of the owner to the places of its dependents.
    owned: HashMap<Box<str>, BTreeSet<(TableId, Box<str>)>>,
}

#[derive(Default)]
struct Table {
    objects: BTreeMap<Box<str>, Bytes>,
    /// The newest change of this table that history has forgotten.
    floor: u64,
    changed: Arc<Notify>,
}

/// What was asked for is no longer remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone {
    /// The oldest version that is.
    pub oldest: u64,
}

/// Why there are no changes to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Gone(Gone),
    /// The collection itself does not exist any more.
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
        // What was stored was serialized by `put`, so it parses.
        self.get(table, path).and_then(|bytes| serde_json::from_slice(bytes).ok())
    }

    pub(crate) fn count(&self, table: &str) -> usize {
        self.tables.get(table).map_or(0, |table| table.objects.len())
    }

    /// Makes sure that a table exists, so that it can be waited for.
    pub(crate) fn open(&mut self, table: &TableId) {
        // One of this name may have been before, of whose changes some are forgotten.
        let floor = self.history.forgotten();
        self.tables.entry(table.clone()).or_insert_with(|| Table { floor, ..Table::default() });
    }

    pub(crate) fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Tells when a table changes; none for a table that was never opened or is closed.
    pub(crate) fn changed(&self, table: &str) -> Option<Arc<Notify>> {
        self.tables.get(table).map(|table| Arc::clone(&table.changed))
    }

    /// Forgets a table whose kind is no longer served; its objects are removed before.
    pub(crate) fn close(&mut self, table: &str) {
        if let Some(table) = self.tables.remove(table) {
            table.changed.notify_waiters();
        }
    }

    /// Paths and bytes of a table, those of one namespace if a prefix such as `default/` is given.
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

    /// Stores an object, which gets the next version, and remembers the change.
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

    /// Removes an object; its last state, with the version of the removal, is what watchers see.
    pub(crate) fn remove(&mut self, table: &TableId, path: &str) -> Option<Value> {
        let previous = self.tables.get_mut(table)?.objects.remove(path)?;
        self.disown(table, path, &previous);
        self.revision += 1;
        let mut object: Value = serde_json::from_slice(&previous).ok()?;
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
        let Ok(object) = serde_json::from_slice::<Value>(bytes) else { return };
        for owner in owners(&object) {
            if let Some(places) = self.owned.get_mut(owner) {
                places.remove(&(table.clone(), path.into()));
                if places.is_empty() {
                    self.owned.remove(owner);
                }
            }
        }
    }

    /// The places of the objects that name this owner.
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

    /// Forgets all changes up to now, as a compaction does.
    pub(crate) fn compact(&mut self) {
        self.history.compact(self.revision);
        for table in self.tables.values() {
            table.changed.notify_waiters();
        }
    }

    /// The oldest version from which a table's changes can be told.
    fn floor(&self, table: &str) -> u64 {
        let floor = self.tables.get(table).map_or(0, |table| table.floor);
        floor.max(self.history.compacted())
    }

    /// The changes of a table after a version, at most `limit`, and the version up to which they were looked for.
    pub(crate) fn changes(&self, table: &str, after: u64, limit: usize) -> Result<(Vec<Event>, u64), Stop> {
        let oldest = self.floor(table);
        if after < oldest {
            return Err(Stop::Gone(Gone { oldest }));
        }
        let events: Vec<Event> =
            self.history.after(after).filter(|event| &*event.table == table).take(limit).cloned().collect();
        // What happened before the end is told before the end.
        if events.is_empty() && !self.has(table) {
            return Err(Stop::Closed);
        }
        let position = match events.last() {
            Some(last) if events.len() == limit => last.revision,
            _ => self.revision,
        };
        Ok((events, position))
    }

    /// The changes of all tables after a version.
    pub(crate) fn all_changes(&self, after: u64, limit: usize) -> Result<Vec<Event>, Gone> {
        let oldest = self.history.forgotten();
        if after < oldest {
            return Err(Gone { oldest });
        }
        Ok(self.history.after(after).take(limit).cloned().collect())
    }

    /// All objects of a table (or of the namespace that is its prefix) as they were at a version.
    pub(crate) fn snapshot(
        &self,
        table: &str,
        prefix: &str,
        at: u64,
    ) -> Result<Vec<(Box<str>, Bytes)>, Gone> {
        let oldest = self.floor(table);
        if at < oldest {
            return Err(Gone { oldest });
        }
        let mut objects: BTreeMap<&str, &Bytes> = self.scan(table, prefix).collect();
        // The newest change is undone first, so that the oldest one has the last word.
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

/// The bytes in which an object is kept; its type is taken off.
fn serialize(object: &mut Value) -> Bytes {
    let fields = object::fields(object);
    fields.remove("apiVersion");
    fields.remove("kind");
    serde_json::to_vec(fields).map(Bytes::from).unwrap_or_default()
}

fn owners(object: &Value) -> impl Iterator<Item = &str> {
    object::list(object, "/metadata/ownerReferences").iter().map(|owner| object::text(owner, "/uid"))
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}
