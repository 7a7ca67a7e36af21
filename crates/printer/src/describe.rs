//! Description of one object, as `kubectl describe` prints it: the fields of its kind, then its events.

mod allocated;
mod autoscaling;
mod batch;
mod config;
mod containers;
mod generic;
mod network;
mod node;
mod page;
mod pod;
mod related;
mod storage;
mod volumes;
mod workload;

use jiff::{Timestamp, fmt::strtime};
use serde_json::Value;

use crate::{
    KindRef,
    kinds::event,
    look::{Look, scalar},
};
use page::Page;
pub use related::{RelatedKind, RelatedObjects, RelatedScope, related_kinds};

/// Object to describe.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub kind: KindRef<'a>,
    /// Account of the object.
    pub account: &'a str,
    pub object: &'a Value,
    /// Objects of [`related_kinds`].
    pub related: &'a RelatedObjects,
    /// Events of the object, or `None` if events are not cached.
    pub events: Option<&'a [Value]>,
    pub now: Timestamp,
}

/// Describes an object.
pub fn describe(subject: &Subject<'_>) -> String {
    let Subject { kind: KindRef { group, kind }, account, object, related, events, now } = *subject;
    let mut page = Page::default();
    page.field(0, "Account", account);
    page.field(0, "Name", object.text("/metadata/name"));
    let is_builtin_cluster_scoped = matches!((group, kind), ("", "Node" | "Namespace" | "PersistentVolume"));
    // kubectl prints the namespace of an ingress later.
    if !is_builtin_cluster_scoped && (group, kind) != ("networking.k8s.io", "Ingress") {
        page.field(0, "Namespace", object.text("/metadata/namespace"));
    }
    match (group, kind) {
        ("", "Pod") => pod::describe(object, now, &mut page),
        ("apps", "Deployment") => workload::deployment(object, related, &mut page),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => {
            workload::replica_set(object, related, &mut page);
        }
        ("apps", "StatefulSet") => workload::stateful_set(object, related, &mut page),
        ("apps", "DaemonSet") => workload::daemon_set(object, related, &mut page),
        ("batch", "Job") => batch::job(object, now, &mut page),
        ("batch", "CronJob") => batch::cron_job(object, &mut page),
        ("", "Service") => network::service(object, related, &mut page),
        ("networking.k8s.io", "Ingress") => network::ingress(object, related, &mut page),
        ("", "Node") => node::describe(object, related, now, &mut page),
        ("", "Namespace") => config::namespace(object, related, &mut page),
        ("", "ConfigMap") => config::config_map(object, &mut page),
        ("", "Secret") => config::secret(object, &mut page),
        ("", "ServiceAccount") => config::service_account(object, &mut page),
        ("", "PersistentVolumeClaim") => storage::claim(object, related, now, &mut page),
        ("", "PersistentVolume") => storage::volume(object, now, &mut page),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::describe(object, &mut page),
        _ => generic::describe(object, &mut page),
    }
    // kubectl shows no events of these.
    if !matches!((group, kind), ("", "Namespace" | "Secret")) {
        describe_events(events, now, &mut page);
    }
    page.to_string()
}

fn describe_events(events: Option<&[Value]>, now: Timestamp, page: &mut Page) {
    let Some(events) = events else { return };
    if events.is_empty() {
        page.field(0, "Events", "<none>");
        return;
    }
    page.flush();
    page.line(0, "Events:\n  Type\tReason\tAge\tFrom\tMessage");
    page.line(1, "----\t------\t----\t----\t-------");
    let mut events: Vec<_> = events.iter().collect();
    events.sort_by_cached_key(|event| last_seen(event));
    for event in events {
        let message = match event.text("/involvedObject/fieldPath") {
            "" => event::message(event).to_owned(),
            path => format!("{path}: {}", event::message(event)),
        };
        let source = event.text_or("/source/component", event.text("/reportingComponent"));
        let interval = crate::events::interval(event, now);
        let (kind, reason) = (event.text("/type"), event.text("/reason"));
        page.line(1, format!("{kind}\t{reason}\t{interval}\t{source}\t{message}"));
    }
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

/// Timestamp as kubectl prints it; without one, Go's zero.
fn time(object: &Value, pointer: &str) -> String {
    let text = object.text_or(pointer, "0001-01-01T00:00:00Z");
    let long = text
        .parse::<Timestamp>()
        .ok()
        .and_then(|time| strtime::format("%a, %d %b %Y %H:%M:%S +0000", time).ok());
    long.unwrap_or_else(|| text.to_owned())
}

/// Owner that controls an object.
fn controlled_by(object: &Value, page: &mut Page) {
    let mut owners = object.list("/metadata/ownerReferences").iter();
    if let Some(owner) = owners.find(|owner| owner.flag("/controller")) {
        page.field(0, "Controlled By", format!("{}/{}", owner.text("/kind"), owner.text("/name")));
    }
}

/// List as Go prints it: `[a b]`.
fn go_list(items: &[Value]) -> String {
    let items: Vec<_> = items.iter().filter_map(scalar).collect();
    format!("[{}]", items.join(" "))
}

/// Flag as kubectl prints it.
fn flag_text(flag: bool) -> &'static str {
    if flag { "True" } else { "False" }
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
