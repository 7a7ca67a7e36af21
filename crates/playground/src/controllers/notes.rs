//! Events: what controllers say of their work, the last few of a cluster.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{fields, turn::Note};
use crate::cluster::{Cluster, Key};

/// The events that a cluster has; the oldest makes room for a new one.
#[derive(Debug)]
pub(crate) struct Notes {
    told: VecDeque<Told>,
    most: usize,
}

#[derive(Debug)]
struct Told {
    key: Key,
    /// Of the object, the reason and the message: the same again is counted and not told anew.
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
        // An event is a courtesy: its namespace may be on its way out.
        if cluster.create(event).is_err() {
            return;
        }
        self.told.push_back(Told { key, digest });
        if self.told.len() > self.most
            && let Some(oldest) = self.told.pop_front()
        {
            // Somebody else may have deleted it.
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
