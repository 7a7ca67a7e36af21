//! Cluster-scoped kinds: namespaces, API services, flow schemas, priority and runtime classes.

use serde_json::Value;

use super::NONE;
use crate::{
    column::{AGE, Builtin, NAME, boolean, integer, text},
    look::Look,
};

pub(super) const NAMESPACE: &[Builtin] =
    &[NAME, text("Status", |namespace, _| namespace.text("/status/phase").into()), AGE];

pub(super) const COMPONENT_STATUS: &[Builtin] = &[
    NAME,
    text("Status", |component, _| match healthy(component).text("/status") {
        "" => "Unknown".into(),
        "True" => "Healthy".into(),
        _ => "Unhealthy".into(),
    }),
    text("Message", |component, _| healthy(component).text("/message").into()),
    text("Error", |component, _| healthy(component).text("/error").into()),
];

pub(super) const API_SERVICE: &[Builtin] = &[
    NAME,
    text("Service", |service, _| {
        let (namespace, name) = (service.text("/spec/service/namespace"), service.text("/spec/service/name"));
        if service.has("/spec/service") { format!("{namespace}/{name}").into() } else { "Local".into() }
    }),
    text("Available", |service, _| {
        let available = service.condition("Available").unwrap_or(&Value::Null);
        match (available.text("/status"), available.text("/reason")) {
            ("", _) => "Unknown".into(),
            ("False", reason) if !reason.is_empty() => format!("False ({reason})").into(),
            (status, _) => status.into(),
        }
    }),
    AGE,
];

pub(super) const PRIORITY_CLASS: &[Builtin] = &[
    NAME,
    integer("Value", |class, _| class.int("/value").into()),
    boolean("Global-Default", |class, _| class.flag("/globalDefault").into()),
    AGE,
    text("PreemptionPolicy", |class, _| class.text("/preemptionPolicy").into()),
];

pub(super) const RUNTIME_CLASS: &[Builtin] =
    &[NAME, text("Handler", |class, _| class.text("/handler").into()), AGE];

pub(super) const FLOW_SCHEMA: &[Builtin] = &[
    NAME,
    text("PriorityLevel", |schema, _| schema.text("/spec/priorityLevelConfiguration/name").into()),
    text("MatchingPrecedence", |schema, _| schema.int("/spec/matchingPrecedence").into()),
    text("DistinguisherMethod", |schema, _| schema.text_or("/spec/distinguisherMethod/type", NONE).into()),
    AGE,
    text("MissingPL", |schema, _| {
        schema.condition("Dangling").map_or("?", |found| found.text("/status")).into()
    }),
];

pub(super) const PRIORITY_LEVEL: &[Builtin] = &[
    NAME,
    text("Type", |level, _| level.text("/spec/type").into()),
    text("NominalConcurrencyShares", |level, _| or_none(level, "/spec/limited/nominalConcurrencyShares")),
    text("Queues", |level, _| or_none(level, "/spec/limited/limitResponse/queuing/queues")),
    text("HandSize", |level, _| or_none(level, "/spec/limited/limitResponse/queuing/handSize")),
    text("QueueLengthLimit", |level, _| {
        or_none(level, "/spec/limited/limitResponse/queuing/queueLengthLimit")
    }),
    AGE,
];

fn healthy(component: &Value) -> &Value {
    let conditions = component.list("/conditions");
    conditions.iter().find(|condition| condition.text("/type") == "Healthy").unwrap_or(&Value::Null)
}

fn or_none(object: &Value, pointer: &str) -> Value {
    match object.at(pointer) {
        Value::Null => NONE.into(),
        value => value.clone(),
    }
}
