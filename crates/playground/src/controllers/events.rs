//! Event objects that controllers record; a cluster keeps the newest ones.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{fields, reconcile::RecordedEvent};
use crate::cluster::{Cluster, Key};

/// Recorder of a cluster's events; a new one replaces the oldest.
#[derive(Debug)]
pub(crate) struct EventRecorder {
    stored: VecDeque<StoredEvent>,
    most: usize,
}

#[derive(Debug)]
struct StoredEvent {
    key: Key,
    /// Hash of object, reason and message: a repeated event increments the count instead.
    digest: u64,
}

// === impl EventRecorder ===

impl EventRecorder {
    pub(crate) fn new(most: usize) -> Self {
        Self { stored: VecDeque::new(), most }
    }

    pub(crate) fn record(
        &mut self,
        cluster: &Cluster,
        recorded: &RecordedEvent,
        now: Timestamp,
        rng: &mut fastrand::Rng,
    ) {
        if self.most == 0 {
            return;
        }
        let mut digest = DefaultHasher::new();
        (fields::text(&recorded.about, "/uid"), recorded.reason, &recorded.message).hash(&mut digest);
        let digest = digest.finish();
        if let Some(stored) = self.stored.iter().find(|stored| stored.digest == digest) {
            let counted = cluster.update(&stored.key, |event| {
                let count = fields::count(event, "/count") + 1;
                fields::set(event, &["count"], count);
                fields::set(event, &["lastTimestamp"], fields::stamp(now));
            });
            if counted.is_ok() {
                return;
            }
        }
        let event = event(recorded, now, rng);
        let key = Key::new("", "events", fields::namespace(&event), fields::name(&event));
        // Events are best effort: the namespace may be terminating.
        if cluster.create(event).is_err() {
            return;
        }
        self.stored.push_back(StoredEvent { key, digest });
        if self.stored.len() > self.most
            && let Some(oldest) = self.stored.pop_front()
        {
            // A client may have deleted it.
            drop(cluster.delete(&oldest.key));
        }
    }
}

fn event(recorded: &RecordedEvent, now: Timestamp, rng: &mut fastrand::Rng) -> Value {
    let RecordedEvent { about, kind, reason, message, source } = recorded;
    let namespace = match fields::text(about, "/namespace") {
        "" => "default",
        namespace => namespace,
    };
    let at = fields::stamp(now);
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": format!("{}.{:016x}", fields::text(about, "/name"), rng.u64(..)),
            "namespace": namespace,
        },
        "involvedObject": about,
        "type": kind,
        "reason": reason,
        "message": message,
        "source": { "component": source },
        "reportingComponent": source,
        "reportingInstance": "",
        "firstTimestamp": at,
        "lastTimestamp": at,
        "eventTime": null,
        "count": 1,
    })
}
