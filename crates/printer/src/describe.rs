//! Description of one object, as `kubectl describe` prints it: the fields of its kind, then its events.

mod config;
mod generic;
mod network;
mod node;
mod page;
mod pod;
mod workload;

use jiff::{Timestamp, fmt::strtime};
use serde_json::Value;

use crate::{
    KindRef,
    kinds::event,
    look::{Look, scalar},
};
use page::Page;

/// Object to describe.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub kind: KindRef<'a>,
    /// Account of the object.
    pub account: &'a str,
    pub object: &'a Value,
    /// Events of the object, or `None` if events are not cached.
    pub events: Option<&'a [Value]>,
    pub now: Timestamp,
}

/// Describes an object.
pub fn describe(subject: &Subject<'_>) -> String {
    let Subject { kind: KindRef { group, kind }, account, object, events, now } = *subject;
    let mut page = Page::default();
    page.field("Account", account);
    page.field("Name", object.text("/metadata/name"));
    if object.has("/metadata/namespace") {
        page.field("Namespace", object.text("/metadata/namespace"));
    }
    match (group, kind) {
        ("", "Pod") => pod::describe(object, &mut page),
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("", "ReplicationController") => {
            workload::controller(kind, object, &mut page);
        }
        ("batch", "Job") => workload::job(object, now, &mut page),
        ("batch", "CronJob") => workload::cron_job(object, now, &mut page),
        ("", "Service") => network::service(object, &mut page),
        ("networking.k8s.io", "Ingress") => network::ingress(object, &mut page),
        ("", "Node") => node::describe(object, &mut page),
        ("", "Namespace") => config::namespace(object, &mut page),
        ("", "ConfigMap") => config::config_map(object, &mut page),
        ("", "PersistentVolumeClaim") => config::claim(object, &mut page),
        _ => generic::describe(object, &mut page),
    }
    match events {
        None => {}
        Some([]) => page.field("Events", "<none>"),
        Some(events) => {
            page.table("Events", &["Type", "Reason", "Age", "From", "Message"], event_rows(events, now));
        }
    }
    page.to_string()
}

/// Describes a pod template without its object: a revision.
pub fn describe_template(template: &Value) -> String {
    let mut page = Page::default();
    pod::template(template, &mut page);
    page.to_string()
}

/// Keeps the newest events, the newest at the end.
pub fn keep_newest(events: &mut Vec<Value>, count: usize) {
    events.sort_by_cached_key(last_seen);
    events.drain(..events.len().saturating_sub(count));
}

fn last_seen(event: &Value) -> Option<Timestamp> {
    event::last_time(event).parse().ok()
}

/// Table of events, sorted by their last time, with their counts.
fn event_rows(events: &[Value], now: Timestamp) -> Vec<Vec<String>> {
    let mut events: Vec<_> = events.iter().collect();
    events.sort_by_cached_key(|event| last_seen(event));
    let row = |event: &&Value| {
        let age = event::last_seen(event, now);
        let age = match event::count(event) {
            0 | 1 => age,
            count => format!("{age} (x{count} over {})", event::first_seen(event, now)),
        };
        vec![
            event.text("/type").to_owned(),
            event.text("/reason").to_owned(),
            age,
            event::source(event),
            event::message(event).to_owned(),
        ]
    };
    events.iter().map(row).collect()
}

/// Labels and annotations, which every kind can have.
fn metadata(object: &Value, page: &mut Page) {
    page.map("Labels", object.at("/metadata/labels"), "=");
    let mut annotations = object.at("/metadata/annotations").clone();
    // This annotation repeats the whole object.
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    page.map("Annotations", &annotations, ": ");
}

/// Timestamp as kubectl prints it; empty without one.
fn time(object: &Value, pointer: &str) -> String {
    let text = object.text(pointer);
    let long = text
        .parse::<Timestamp>()
        .ok()
        .and_then(|time| strtime::format("%a, %d %b %Y %H:%M:%S +0000", time).ok());
    long.unwrap_or_else(|| text.to_owned())
}

/// Table of conditions.
fn conditions(object: &Value, page: &mut Page) {
    let conditions = object.list("/status/conditions");
    if conditions.is_empty() {
        return;
    }
    let row = |condition: &Value| {
        ["/type", "/status", "/reason", "/message"]
            .iter()
            .map(|field| condition.text(field).to_owned())
            .collect()
    };
    page.table("Conditions", &["Type", "Status", "Reason", "Message"], conditions.iter().map(row).collect());
}

/// Text, or `<none>` if it is empty.
fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// Scalar as text, or `<none>` if it is missing.
fn shown(object: &Value, pointer: &str) -> String {
    scalar(object.at(pointer)).unwrap_or_else(|| "<none>".to_owned())
}

#[cfg(test)]
mod tests;
