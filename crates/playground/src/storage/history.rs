//! The newest changes of a cluster, limited in number and in bytes.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::catalogue::TableId;

/// Kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

/// One change of one object.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) revision: u64,
    pub(crate) table: TableId,
    pub(crate) path: Box<str>,
    pub(crate) kind: ChangeKind,
    /// The object after the change; for a deletion, its last state.
    pub(crate) object: Bytes,
    /// The object before the change.
    pub(crate) previous: Option<Bytes>,
}

/// Limits of the history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) changes: usize,
    pub(crate) bytes: usize,
}

/// Ring buffer of changes without gaps: each has its predecessor's revision plus one.
pub(crate) struct History {
    events: VecDeque<Event>,
    bytes: usize,
    limits: Limits,
    forgotten: u64,
    compacted: u64,
}

// === impl History ===

impl History {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { events: VecDeque::new(), bytes: 0, limits, forgotten: 0, compacted: 0 }
    }

    /// Adds a change; returns the table and revision of each change that was dropped for it.
    pub(crate) fn push(&mut self, event: Event) -> Vec<(TableId, u64)> {
        self.bytes += event.object.len();
        self.events.push_back(event);
        let mut evicted = Vec::new();
        while self.events.len() > self.limits.changes || self.bytes > self.limits.bytes {
            let Some((table, revision)) = self.evict() else { break };
            evicted.push((table, revision));
        }
        evicted
    }

    fn evict(&mut self) -> Option<(TableId, u64)> {
        let event = self.events.pop_front()?;
        self.bytes -= event.object.len();
        self.forgotten = event.revision;
        Some((event.table, event.revision))
    }

    pub(crate) fn compact(&mut self, revision: u64) {
        while self.events.front().is_some_and(|event| event.revision <= revision) {
            self.evict();
        }
        self.compacted = revision;
    }

    pub(crate) fn compacted(&self) -> u64 {
        self.compacted
    }

    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten.max(self.compacted)
    }

    pub(crate) fn after(&self, revision: u64) -> impl DoubleEndedIterator<Item = &Event> {
        let start = self.events.partition_point(|event| event.revision <= revision);
        self.events.range(start..)
    }
}
