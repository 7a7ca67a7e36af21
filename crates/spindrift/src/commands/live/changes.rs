//! Newest changes, and the filter for those that are shown.

use std::collections::{HashSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::hub::{DeletedObject, Object};

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangeEntry {
    pub(super) at: Timestamp,
    pub(super) account: String,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) change_type: ChangeType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeType {
    Created,
    Changed,
    Deleted,
}

/// Newest changes, the newest first.
#[derive(Debug, Default)]
pub(super) struct Changes {
    kept: VecDeque<ChangeEntry>,
    /// Uids that have been seen, oldest first, and the same uids as a set.
    order: VecDeque<String>,
    seen: HashSet<String>,
    /// Changes that arrived while the list is paused.
    waiting: Option<Vec<ChangeEntry>>,
}

/// Maximum number of changes: many screens.
const KEPT: usize = 2000;
/// Maximum number of uids: 40 bytes each, half a megabyte.
const SEEN: usize = 10_000;
/// Maximum age of an object whose first event counts as its creation; the watch does not distinguish.
const NEW: SignedDuration = SignedDuration::from_secs(30);

/// Fields of an object that are needed.
#[derive(Deserialize)]
struct ObjectBody {
    metadata: ObjectMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectMetadata {
    creation_timestamp: Option<Timestamp>,
}

// === impl Changes ===

impl Changes {
    pub(super) fn upsert(&mut self, object: Object, at: Timestamp) {
        let body: Option<ObjectBody> = serde_json::from_str(object.object.get()).ok();
        let created = body.and_then(|body| body.metadata.creation_timestamp);
        let young = created.is_some_and(|created| at.duration_since(created) < NEW);
        let change_type =
            if self.see(object.uid) && young { ChangeType::Created } else { ChangeType::Changed };
        let Object { account, kind, namespace, name, .. } = object;
        self.push(ChangeEntry { at, account, kind, namespace, name, change_type });
    }

    pub(super) fn delete(&mut self, object: DeletedObject, at: Timestamp) {
        let DeletedObject { account, kind, namespace, name, .. } = object;
        self.push(ChangeEntry { at, account, kind, namespace, name, change_type: ChangeType::Deleted });
    }

    fn push(&mut self, change: ChangeEntry) {
        match &mut self.waiting {
            Some(waiting) if waiting.len() < KEPT => waiting.push(change),
            // After a long pause, only the newest changes are shown.
            Some(waiting) => {
                waiting.remove(0);
                waiting.push(change);
            }
            None => {
                self.kept.push_front(change);
                self.kept.truncate(KEPT);
            }
        }
    }

    /// Whether this is the first event of the object.
    fn see(&mut self, uid: String) -> bool {
        if !self.seen.insert(uid.clone()) {
            return false;
        }
        self.order.push_back(uid);
        if self.order.len() > SEEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        true
    }

    /// Pauses the list, or resumes it with the changes that arrived meanwhile.
    pub(super) fn toggle_pause(&mut self) {
        match self.waiting.take() {
            None => self.waiting = Some(Vec::new()),
            Some(waiting) => waiting.into_iter().for_each(|change| self.push(change)),
        }
    }

    /// Number of changes that arrived while the list is paused.
    pub(super) fn paused(&self) -> Option<usize> {
        self.waiting.as_ref().map(Vec::len)
    }

    /// Changes of this account (or all) that contain the text, the newest first.
    pub(super) fn matching(&self, account: Option<&str>, text: &str) -> impl Iterator<Item = &ChangeEntry> {
        let text = text.to_lowercase();
        self.kept.iter().filter(move |change| {
            account.is_none_or(|account| change.account == account)
                && (text.is_empty() || change.contains(&text))
        })
    }
}

// === impl ChangeEntry ===

impl ChangeEntry {
    /// `namespace/name`, or just the name.
    pub(super) fn path(&self) -> String {
        let Self { namespace, name, .. } = self;
        if namespace.is_empty() { name.clone() } else { format!("{namespace}/{name}") }
    }

    fn contains(&self, text: &str) -> bool {
        let Self { account, kind, change_type, .. } = self;
        format!("{account} {} {kind} {}", change_type.word(), self.path()).to_lowercase().contains(text)
    }
}

// === impl ChangeType ===

impl ChangeType {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, created: &str) -> Object {
        let text = format!(
            r#"{{"account":"eu","group":"","version":"v1","kind":"Pod","namespace":"shop","name":"{name}","uid":"u-{name}",
               "resourceVersion":"1","object":{{"metadata":{{"creationTimestamp":"{created}"}}}}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn now() -> Timestamp {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }

    fn shown(changes: &Changes, text: &str) -> Vec<String> {
        changes
            .matching(None, text)
            .map(|change| format!("{} {}", change.change_type.word(), change.path()))
            .collect()
    }

    #[test]
    fn an_object_is_created_once_and_only_if_it_is_young() {
        let mut changes = Changes::default();
        changes.upsert(object("old", "2025-01-01T00:00:00Z"), now());
        changes.upsert(object("new", "2026-01-01T11:59:59Z"), now());
        changes.upsert(object("new", "2026-01-01T11:59:59Z"), now());
        changes.upsert(object("odd", "yesterday"), now());
        assert_eq!(
            shown(&changes, ""),
            ["changed shop/odd", "changed shop/new", "created shop/new", "changed shop/old"]
        );
    }

    #[test]
    fn a_paused_list_keeps_new_changes() {
        let mut changes = Changes::default();
        changes.toggle_pause();
        changes.upsert(object("a", "2025-01-01T00:00:00Z"), now());
        assert_eq!((shown(&changes, "").len(), changes.paused()), (0, Some(1)));
        changes.toggle_pause();
        assert_eq!((shown(&changes, ""), changes.paused()), (vec!["changed shop/a".to_owned()], None));
    }

    #[test]
    fn a_filter_matches_all_columns_and_memory_is_bounded() {
        let mut changes = Changes::default();
        for number in 0..KEPT + 10 {
            changes.upsert(object(&format!("pod-{number}"), "2025-01-01T00:00:00Z"), now());
        }
        assert_eq!(changes.matching(None, "").count(), KEPT);
        assert_eq!(shown(&changes, "SHOP/pod-2009"), ["changed shop/pod-2009"]);
        assert_eq!(changes.matching(Some("us"), "").count(), 0);
    }
}
