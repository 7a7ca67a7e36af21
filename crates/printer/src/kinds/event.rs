//! Events of the core group and of `events.k8s.io`, which has other names for the same fields.

use jiff::Timestamp;
use serde_json::Value;

use crate::{
    age::since,
    column::{Builtin, NAME, text, wide},
    look::Look,
};

pub(super) const EVENT: &[Builtin] = &[
    text("Last Seen", |event, now| last_seen(event, now).into()),
    text("Type", |event, _| event.text("/type").into()),
    text("Reason", |event, _| event.text("/reason").into()),
    text("Object", |event, _| object(event).into()),
    wide("Subobject", |event, _| either(event, ["/involvedObject/fieldPath", "/regarding/fieldPath"]).into()),
    wide("Source", |event, _| source(event).into()),
    text("Message", |event, _| message(event).into()),
    wide("First Seen", |event, now| first_seen(event, now).into()),
    wide("Count", |event, _| count(event).into()),
    NAME.with_priority(1),
];

/// First of these fields that is not empty.
fn either<'a, const N: usize>(event: &'a Value, pointers: [&str; N]) -> &'a str {
    pointers.into_iter().map(|pointer| event.text(pointer)).find(|text| !text.is_empty()).unwrap_or_default()
}

fn object(event: &Value) -> String {
    let kind = either(event, ["/involvedObject/kind", "/regarding/kind"]).to_lowercase();
    match either(event, ["/involvedObject/name", "/regarding/name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

/// Reporting component and its host.
pub(crate) fn source(event: &Value) -> String {
    let component = either(
        event,
        ["/source/component", "/deprecatedSource/component", "/reportingComponent", "/reportingController"],
    );
    match either(event, ["/source/host", "/deprecatedSource/host", "/reportingInstance"]) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}

pub(crate) fn message(event: &Value) -> &str {
    either(event, ["/message", "/note"]).trim()
}

pub(crate) fn first_seen(event: &Value, now: Timestamp) -> String {
    since(now, either(event, ["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"]))
}

pub(crate) fn last_seen(event: &Value, now: Timestamp) -> String {
    since(now, last_time(event))
}

/// Time of the last occurrence, as the API server sent it.
pub(crate) fn last_time(event: &Value) -> &str {
    if event.has("/series") {
        return event.text("/series/lastObservedTime");
    }
    either(
        event,
        [
            "/lastTimestamp",
            "/deprecatedLastTimestamp",
            "/firstTimestamp",
            "/deprecatedFirstTimestamp",
            "/eventTime",
        ],
    )
}

/// Number of occurrences; an event without a count occurred once.
pub(crate) fn count(event: &Value) -> i64 {
    if event.has("/series") {
        return event.int("/series/count");
    }
    event.int("/count").max(event.int("/deprecatedCount")).max(1)
}
