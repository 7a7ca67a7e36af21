//! Newest changes, and the filter for those that are shown.

use std::collections::{HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use spindrift_printer::{KindRef, cell_text};

use super::status::{ObjectHealth, ObjectStatus};
use crate::hub::{DeletedObject, Object};

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangeEntry {
    pub(super) at: Timestamp,
    pub(super) account: String,
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) change_type: ChangeType,
    /// State that changed, or reason and message of an event.
    pub(super) detail: String,
    pub(super) health: ObjectHealth,
    /// Group and kind of the object that an event is about; namespace and name are those of that object.
    pub(super) about: Option<(String, String)>,
    /// Number in the order of arrival.
    pub(super) number: u64,
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
    /// Uids that have been seen, oldest first, and the newest states of these objects.
    order: VecDeque<String>,
    seen: HashMap<String, ObjectStatus>,
    /// Number of the newest change.
    newest: u64,
    /// Changes that arrived while the list is paused.
    waiting: Option<Vec<ChangeEntry>>,
}

/// Maximum number of changes: many screens.
const KEPT: usize = 2000;
/// Maximum number of uids: with their states some 300 bytes each, three megabytes.
const SEEN: usize = 10_000;
/// Maximum age of an object whose first event counts as its creation; the watch does not distinguish.
const NEW: SignedDuration = SignedDuration::from_secs(30);

// === impl Changes ===

impl Changes {
    pub(super) fn upsert(&mut self, object: Object, at: Timestamp) {
        let Object { account, group, kind, namespace, name, uid, object, .. } = object;
        let body: Value = serde_json::from_str(object.get()).unwrap_or_default();
        let created = text(&body, "/metadata/creationTimestamp").parse::<Timestamp>();
        let young = created.is_ok_and(|created| at.duration_since(created) < NEW);
        let status = ObjectStatus::of(KindRef { group: &group, kind: &kind }, &body, at);
        let (detail, health) = (status.since(self.seen.get(&uid)), status.health());
        let change_type =
            if self.see(uid, status) && young { ChangeType::Created } else { ChangeType::Changed };
        let entry = ChangeEntry {
            at,
            account,
            group,
            kind,
            namespace,
            name,
            change_type,
            detail,
            health,
            about: None,
            number: 0,
        };
        self.push(if entry.kind == "Event" { entry.of_event(&body) } else { entry });
    }

    pub(super) fn delete(&mut self, object: DeletedObject, at: Timestamp) {
        let DeletedObject { account, group, kind, namespace, name } = object;
        // Events expire after an hour; that is no news.
        if kind == "Event" {
            return;
        }
        self.push(ChangeEntry {
            at,
            account,
            group,
            kind,
            namespace,
            name,
            change_type: ChangeType::Deleted,
            detail: String::new(),
            health: ObjectHealth::Good,
            about: None,
            number: 0,
        });
    }

    fn push(&mut self, mut change: ChangeEntry) {
        self.newest += 1;
        change.number = self.newest;
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

    /// Stores the state of the object; whether this is its first event.
    fn see(&mut self, uid: String, status: ObjectStatus) -> bool {
        if self.seen.insert(uid.clone(), status).is_some() {
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
        let Self { account, kind, change_type, detail, .. } = self;
        let line = format!("{account} {} {kind} {} {detail}", change_type.word(), self.path());
        line.to_lowercase().contains(text)
    }

    /// Entry of an event: its reason and message, and the object that it is about.
    fn of_event(mut self, event: &Value) -> Self {
        let (reason, message) = (text(event, "/reason"), text(event, "/message"));
        self.detail = format!("{reason}: {}", one_line(message));
        if let Some(count) = event["count"].as_u64().filter(|count| *count > 1) {
            self.detail = format!("{} (x{count})", self.detail);
        }
        self.health = if text(event, "/type") == "Warning" { ObjectHealth::Bad } else { ObjectHealth::Good };
        let kind = text(event, "/involvedObject/kind");
        let name = text(event, "/involvedObject/name");
        if !kind.is_empty() && !name.is_empty() {
            let version = text(event, "/involvedObject/apiVersion");
            let group = version.split_once('/').map(|(group, _)| group).unwrap_or_default();
            self.about = Some((group.to_owned(), kind.to_owned()));
            name.clone_into(&mut self.name);
            text(event, "/involvedObject/namespace").clone_into(&mut self.namespace);
        }
        self
    }

    /// Kind, or the kind that an event is about.
    pub(super) fn shown_kind(&self) -> String {
        match &self.about {
            Some((_, kind)) => format!("Event {kind}"),
            None => self.kind.clone(),
        }
    }
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Text without line breaks and escape sequences.
fn one_line(text: &str) -> String {
    cell_text(&text.into())
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

    /// Word in one character.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Created => "+",
            Self::Changed => "~",
            Self::Deleted => "-",
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
    fn an_event_shows_its_reason_and_the_object_that_it_is_about() {
        let text = r#"{"account":"eu","group":"","version":"v1","kind":"Event","namespace":"shop","name":"web.17f","uid":"e",
            "resourceVersion":"1","object":{"metadata":{},"type":"Warning","reason":"BackOff","count":3,
            "message":"Back-off restarting\nfailed container",
            "involvedObject":{"kind":"Pod","apiVersion":"v1","name":"web","namespace":"shop"}}}"#;
        let mut changes = Changes::default();
        changes.upsert(serde_json::from_str(text).unwrap(), now());
        let event = changes.matching(None, "backoff").next().unwrap();
        assert_eq!((event.shown_kind().as_str(), event.path().as_str()), ("Event Pod", "shop/web"));
        assert!(event.detail.starts_with("BackOff: Back-off restarting"), "{}", event.detail);
        assert!(event.detail.ends_with("(x3)") && !event.detail.contains('\n'), "{}", event.detail);
        assert_eq!(event.health, ObjectHealth::Bad);
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
