//! Conversion between the stored form of an object and the version in which it is served.
//!
//! Nearly all kinds look the same in all their versions. The exceptions are `autoscaling/v1`, which shows a
//! `HorizontalPodAutoscaler` of `autoscaling/v2` with its CPU target only, and `events.k8s.io/v1`, which has other
//! names for the fields of an event.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value, json};

use crate::catalogue::Resource;
use crate::object::{fields, text};

/// Parses stored bytes into an object of the resource's version.
pub(crate) fn present(resource: &Resource, bytes: &Bytes) -> Option<Value> {
    let mut object = serde_json::from_slice(bytes).ok()?;
    set_type(resource, &mut object);
    Some(object)
}

/// Sets `apiVersion` and `kind`, and converts the fields to the resource's version.
pub(crate) fn set_type(resource: &Resource, object: &mut Value) {
    from_storage(resource, object);
    let fields = fields(object);
    fields.insert("apiVersion".into(), resource.api_version().into());
    fields.insert("kind".into(), resource.kind.clone().into());
}

/// Writes stored objects with the type of the resource.
#[derive(Debug, Clone)]
pub(crate) struct ObjectWriter {
    head: Bytes,
    converts: bool,
    resource: std::sync::Arc<Resource>,
}

impl ObjectWriter {
    pub(crate) fn new(resource: &std::sync::Arc<Resource>) -> Self {
        let head = format!("{{\"kind\":{:?},\"apiVersion\":{:?},", resource.kind, resource.api_version());
        Self { head: head.into(), converts: converts(resource), resource: std::sync::Arc::clone(resource) }
    }

    /// Writes the whole object.
    pub(crate) fn write(&self, bytes: &Bytes, out: &mut BytesMut) {
        out.put_slice(&self.head);
        out.put_slice(self.body(bytes).get(1..).unwrap_or_default());
    }

    /// Writes the object as a list item; items of built-in kinds have no type.
    pub(crate) fn write_item(&self, bytes: &Bytes, out: &mut BytesMut) {
        if self.resource.custom.is_some() {
            self.write(bytes, out);
        } else {
            out.put_slice(&self.body(bytes));
        }
    }

    fn body(&self, bytes: &Bytes) -> Bytes {
        if !self.converts {
            return bytes.clone();
        }
        let Ok(mut object) = serde_json::from_slice(bytes) else { return bytes.clone() };
        from_storage(&self.resource, &mut object);
        serde_json::to_vec(&object).map_or_else(|_| bytes.clone(), Bytes::from)
    }
}

fn converts(resource: &Resource) -> bool {
    matches!(
        (resource.group.as_str(), resource.version.as_str()),
        ("autoscaling", "v1") | ("events.k8s.io", _)
    )
}

pub(crate) fn to_storage(resource: &Resource, object: &mut Value) {
    match (resource.group.as_str(), resource.version.as_str()) {
        ("autoscaling", "v1") => autoscaler_to_v2(object),
        ("events.k8s.io", _) => rename(fields(object), &EVENT_FIELDS.map(|(core, new)| (new, core))),
        _ => {}
    }
}

fn from_storage(resource: &Resource, object: &mut Value) {
    match (resource.group.as_str(), resource.version.as_str()) {
        ("autoscaling", "v1") => autoscaler_to_v1(object),
        ("events.k8s.io", _) => rename(fields(object), &EVENT_FIELDS),
        _ => {}
    }
}

/// Fields of core/v1 events and their names in events.k8s.io/v1.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

fn rename(fields: &mut Map<String, Value>, names: &[(&str, &str)]) {
    for (from, to) in names {
        if let Some(value) = fields.remove(*from) {
            fields.insert((*to).to_owned(), value);
        }
    }
}

fn is_cpu(metric: &Value) -> bool {
    text(metric, "/type") == "Resource" && text(metric, "/resource/name") == "cpu"
}

fn autoscaler_to_v1(object: &mut Value) {
    if let Some(Value::Object(spec)) = object.get_mut("spec")
        && let Some(Value::Array(metrics)) = spec.remove("metrics")
        && let Some(target) = metrics.iter().find(|metric| is_cpu(metric))
        && let Some(percent) = target.pointer("/resource/target/averageUtilization")
    {
        spec.insert("targetCPUUtilizationPercentage".into(), percent.clone());
    }
    if let Some(Value::Object(status)) = object.get_mut("status") {
        status.remove("conditions");
        if let Some(Value::Array(metrics)) = status.remove("currentMetrics")
            && let Some(current) = metrics.iter().find(|metric| is_cpu(metric))
            && let Some(percent) = current.pointer("/resource/current/averageUtilization")
        {
            status.insert("currentCPUUtilizationPercentage".into(), percent.clone());
        }
    }
}

fn autoscaler_to_v2(object: &mut Value) {
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    if let Some(percent) = spec.remove("targetCPUUtilizationPercentage") {
        let target = json!({"type": "Utilization", "averageUtilization": percent});
        spec.insert(
            "metrics".into(),
            json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]),
        );
    }
}
