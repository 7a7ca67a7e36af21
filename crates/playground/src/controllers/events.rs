//! Event objects that controllers record; a cluster keeps the newest ones.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{fields, reconcile::Note};
use crate::cluster::{Cluster, Key};

/// Recorder of a cluster's events; a new one replaces the oldest.
#[derive(Debug)]
pub(crate) struct Notes {
    told: VecDeque<Told>,
    most: usize,
}

#[derive(Debug)]
struct Told {
    key: Key,
    /// Hash of object, reason and message: a repeated event increments the count instead.
    digest: u64,
}

// === impl Notes ===

impl Notes {
    pub(crate) fn new(most: usize) -> Self {
        Self { told: VecDeque::new(), most }
    }

    pub(crate) fn tell(&mut self, cluster: &Cluster, note: &Note, now: Timestamp, rng: &mut fastrand::Rng) {
        if self.most == 0 {
            return;
        }
        let mut digest = DefaultHasher::new();
        (fields::text(&note.about, "/uid"), note.reason, &note.message).hash(&mut digest);
        let digest = digest.finish();
        if let Some(told) = self.told.iter().find(|told| told.digest == digest) {
            let counted = cluster.update(&told.key, |event| {
                let count = fields::count(event, "/count") + 1;
                fields::set(event, &["count"], count);
                fields::set(event, &["lastTimestamp"], fields::stamp(now));
            });
            if counted.is_ok() {
                return;
            }
        }
        let event = event(note, now, rng);
        let key = Key::new("", "events", fields::namespace(&event), fields::name(&event));
        // Events are best effort: the namespace may be terminating.
        if cluster.create(event).is_err() {
            return;
        }
        self.told.push_back(Told { key, digest });
        if self.told.len() > self.most
            && let Some(oldest) = self.told.pop_front()
        {
            // A client may have deleted it.
            drop(cluster.delete(&oldest.key));
        }
    }
}

fn event(note: &Note, now: Timestamp, rng: &mut fastrand::Rng) -> Value {
    let Note { about, kind, reason, message, source } = note;
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
