//! Generated pods: load without the memory for stored objects.
//!
//! ```text
//! slots: 16 bytes per pod ──┐
//! history: 32 bytes per change ──┼─▶ template + (index, incarnation, touches, version) ─▶ 12 KB of JSON
//! producer ──change──▶ slots, history ──▶ watchers wake
//! ```
//!
//! The same seed, index and incarnation generate the same pod. A later page of a list shows the pods as they are at
//! that time, under the resource version of its first page: a watch from that version repeats the changes since.

mod producer;
mod template;

use std::{collections::VecDeque, ops::Range, sync::Arc};

use bytes::Bytes;
use parking_lot::RwLock;
use tokio::sync::Notify;

pub use producer::{Load, Producer};
use template::PodValues;
pub use template::Template;

use crate::storage::{
    ChangeKind, ChangesError, RevisionGone,
    collection::{Change, Changes, Collection, Snapshot, SnapshotItem},
};

/// Pods of one cluster.
pub struct Population {
    maker: PodGenerator,
    state: RwLock<PopulationState>,
    changed: Arc<Notify>,
}

/// Generates a pod from an index and a slot.
#[derive(Debug, Clone)]
struct PodGenerator {
    template: Arc<Template>,
    seed: u64,
    namespaces: u32,
    size: u32,
}

/// Number, namespaces and first revision of the pods.
#[derive(Debug, Clone, Copy)]
pub struct PopulationOptions {
    pub pods: u32,
    pub namespaces: u32,
    pub seed: u64,
    /// Revision of the first list.
    pub revision: u64,
    /// Number of changes in the history. A watch that is further behind gets 410.
    pub history: usize,
}

struct PopulationState {
    slots: Vec<PodState>,
    history: VecDeque<PastChange>,
    most: usize,
    revision: u64,
    /// Revision of the newest dropped change.
    floor: u64,
}

/// State of one pod.
#[derive(Debug, Clone, Copy, Default)]
struct PodState {
    incarnation: u32,
    touches: u32,
    revision: u64,
}

/// A past change of a pod.
#[derive(Debug, Clone, Copy)]
struct PastChange {
    index: u32,
    slot: PodState,
    kind: ChangeKind,
}

/// Prefix of the pods' namespaces: `load-000`, `load-001` and so on.
const PREFIX: &str = "load-";

// === impl Population ===

impl Population {
    pub fn new(template: &Arc<Template>, options: PopulationOptions) -> Arc<Self> {
        let PopulationOptions { pods, namespaces, seed, revision, history } = options;
        let slots = vec![PodState { revision, ..PodState::default() }; pods as usize];
        Arc::new(Self {
            maker: PodGenerator {
                template: Arc::clone(template),
                seed,
                namespaces: namespaces.clamp(1, pods.max(1)),
                size: pods,
            },
            state: RwLock::new(PopulationState {
                slots,
                history: VecDeque::new(),
                most: history,
                revision,
                floor: revision,
            }),
            changed: Arc::new(Notify::new()),
        })
    }

    /// Namespaces of the pods.
    pub fn namespaces(&self) -> impl Iterator<Item = String> + use<> {
        (0..self.maker.namespaces).map(|number| format!("{PREFIX}{number:03}"))
    }

    /// Changes the status of a pod.
    pub fn touch(&self, index: u32) {
        self.write(|state| {
            let Some(slot) = state.slots.get(index as usize).copied() else { return };
            let slot = PodState { touches: slot.touches.wrapping_add(1), ..slot };
            state.record(index, slot, ChangeKind::Modified);
        });
    }

    /// Deletes a pod and creates another one in its place.
    pub fn replace(&self, index: u32) {
        self.write(|state| {
            let Some(slot) = state.slots.get(index as usize).copied() else { return };
            state.record(index, slot, ChangeKind::Deleted);
            let next = PodState { incarnation: slot.incarnation.wrapping_add(1), touches: 0, revision: 0 };
            state.record(index, next, ChangeKind::Added);
        });
    }

    fn write(&self, change: impl FnOnce(&mut PopulationState)) {
        change(&mut self.state.write());
        self.changed.notify_waiters();
    }

    /// Finds the pod of a path, if it is the current incarnation.
    fn find(&self, path: &str) -> Option<(u32, PodState)> {
        let index = template::index_of(path)?;
        let slot = self.state.read().slots.get(index as usize).copied()?;
        (self.maker.pod(index, slot).path() == path).then_some((index, slot))
    }
}

impl Collection for Population {
    fn revision(&self) -> u64 {
        self.state.read().revision
    }

    fn get(&self, path: &str) -> Option<Bytes> {
        let (index, slot) = self.find(path)?;
        Some(self.maker.render(index, slot).1)
    }

    fn snapshot(&self, prefix: &str, after: Option<&str>, at: Option<u64>) -> Result<Snapshot, RevisionGone> {
        let mut range = self.maker.range(prefix);
        if let Some(after) = after.and_then(template::index_of) {
            range.start = range.start.max(after.saturating_add(1)).min(range.end);
        }
        let count = u64::from(range.end - range.start);
        // Copied at once, 16 bytes each, so that a slow reader of a long list holds no lock; together with the
        // revision, so that a watch from it misses nothing.
        let (revision, slots) = {
            let state = self.state.read();
            if at.is_some_and(|at| at < state.floor) {
                return Err(RevisionGone { oldest: state.floor });
            }
            let of = state.slots.get(range.start as usize..range.end as usize).unwrap_or_default();
            (state.revision, range.zip(of.iter().copied()).collect::<Vec<_>>())
        };
        let maker = self.maker.clone();
        let items = slots.into_iter().map(move |(index, slot)| {
            let (path, object) = maker.render(index, slot);
            SnapshotItem { path, object }
        });
        Ok(Snapshot { revision: at.unwrap_or(revision), count, items: Box::new(items) })
    }

    fn changes(&self, after: u64, limit: usize) -> Result<Changes, ChangesError> {
        let state = self.state.read();
        if after < state.floor {
            return Err(ChangesError::Gone(RevisionGone { oldest: state.floor }));
        }
        let start = state.history.partition_point(|past| past.slot.revision <= after);
        let past: Vec<_> = state.history.range(start..).take(limit).copied().collect();
        let position = match past.last() {
            Some(last) if past.len() == limit => last.slot.revision,
            _ => state.revision,
        };
        drop(state);
        let change = |past: PastChange| {
            let (path, object) = self.maker.render(past.index, past.slot);
            // No field that a selector reads ever changes, so the previous state equals the new one.
            let previous = (past.kind != ChangeKind::Added).then(|| object.clone());
            Change { revision: past.slot.revision, kind: past.kind, path, object, previous }
        };
        Ok(Changes { changes: past.into_iter().map(change).collect(), position })
    }

    fn changed(&self) -> Option<Arc<Notify>> {
        Some(Arc::clone(&self.changed))
    }
}

// === impl PodGenerator ===

impl PodGenerator {
    fn render(&self, index: u32, slot: PodState) -> (Box<str>, Bytes) {
        let pod = self.pod(index, slot);
        (pod.path().into(), self.template.render(&pod))
    }

    fn pod(&self, index: u32, slot: PodState) -> PodValues {
        let PodState { incarnation, touches, revision } = slot;
        PodValues {
            seed: self.seed,
            index,
            incarnation,
            touches,
            revision,
            namespace: self.namespace_of(index),
        }
    }

    fn namespace_of(&self, index: u32) -> u32 {
        let number = u64::from(index) * u64::from(self.namespaces) / u64::from(self.size.max(1));
        u32::try_from(number).unwrap_or(0)
    }

    /// Indexes of the pods of a namespace; their order is that of their paths.
    fn range(&self, prefix: &str) -> Range<u32> {
        if prefix.is_empty() {
            return 0..self.size;
        }
        let number = prefix.trim_end_matches('/').strip_prefix(PREFIX).and_then(|number| number.parse().ok());
        let Some(number) = number.filter(|number: &u32| *number < self.namespaces) else { return 0..0 };
        let first = |number: u32| {
            let first = (u64::from(number) * u64::from(self.size)).div_ceil(u64::from(self.namespaces));
            u32::try_from(first).unwrap_or(self.size)
        };
        first(number)..first(number + 1)
    }
}

// === impl PopulationState ===

impl PopulationState {
    fn record(&mut self, index: u32, slot: PodState, kind: ChangeKind) {
        self.revision += 1;
        let slot = PodState { revision: self.revision, ..slot };
        if let Some(place) = self.slots.get_mut(index as usize) {
            *place = slot;
        }
        self.history.push_back(PastChange { index, slot, kind });
        if self.history.len() > self.most
            && let Some(oldest) = self.history.pop_front()
        {
            self.floor = oldest.slot.revision;
        }
    }
}

#[cfg(test)]
mod tests;
