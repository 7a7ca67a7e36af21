//! Horizontal pod autoscalers.

use serde_json::Value;

use super::{Page, time};
use crate::look::{Look, scalar};

pub(super) fn describe(scaler: &Value, page: &mut Page) {
    page.metadata(scaler);
    page.field(0, "CreationTimestamp", time(scaler, "/metadata/creationTimestamp"));
    let (kind, name) = (scaler.text("/spec/scaleTargetRef/kind"), scaler.text("/spec/scaleTargetRef/name"));
    page.field(0, "Reference", format!("{kind}/{name}"));
    page.field(0, "Metrics", "( current / target )");
    let currents = scaler.list("/status/currentMetrics");
    for (index, metric) in scaler.list("/spec/metrics").iter().enumerate() {
        let current = currents.get(index).unwrap_or(&Value::Null);
        page.line(1, describe_metric(metric, current));
    }
    page.field(0, "Min replicas", scaler.scalar("/spec/minReplicas").unwrap_or_else(|| "<unset>".to_owned()));
    page.field(0, "Max replicas", scaler.int("/spec/maxReplicas"));
    if scaler.has("/spec/behavior") {
        page.line(0, "Behavior:");
        behavior("Scale Up", scaler.at("/spec/behavior/scaleUp"), page);
        behavior("Scale Down", scaler.at("/spec/behavior/scaleDown"), page);
    }
    let (current, desired) = (scaler.int("/status/currentReplicas"), scaler.int("/status/desiredReplicas"));
    page.line(0, format!("{kind} pods:\t{current} current / {desired} desired"));
    let conditions = scaler.list("/status/conditions");
    if !conditions.is_empty() {
        page.line(0, "Conditions:");
        page.line(1, "Type\tStatus\tReason\tMessage");
        page.line(1, "----\t------\t------\t-------");
    }
    for condition in conditions {
        let cells = ["/type", "/status", "/reason", "/message"].map(|pointer| condition.text(pointer));
        page.line(1, cells.join("\t"));
    }
}

fn describe_metric(metric: &Value, current: &Value) -> String {
    let quantity =
        |value: &Value, pointer: &str| value.scalar(pointer).unwrap_or_else(|| "<unknown>".to_owned());
    match metric.text("/type") {
        "External" => {
            let name = metric.text("/external/metric/name");
            let (kind, field) = if metric.has("/external/target/averageValue") {
                ("average value", "averageValue")
            } else {
                ("value", "value")
            };
            let current = quantity(current, &format!("/external/current/{field}"));
            let target = quantity(metric, &format!("/external/target/{field}"));
            format!("{name:?} (target {kind}):\t{current} / {target}")
        }
        "Pods" => {
            let name = metric.text("/pods/metric/name");
            let current = quantity(current, "/pods/current/averageValue");
            format!("{name:?} on pods:\t{current} / {}", quantity(metric, "/pods/target/averageValue"))
        }
        "Object" => {
            let object = metric.at("/object");
            let (kind, name) = (object.text("/describedObject/kind"), object.text("/describedObject/name"));
            let (word, field) = if object.text("/target/type") == "AverageValue" {
                ("average value", "averageValue")
            } else {
                ("value", "value")
            };
            let current = quantity(current, &format!("/object/current/{field}"));
            let target = quantity(object, &format!("/target/{field}"));
            let metric = object.text("/metric/name");
            format!("\"{metric}\" on {kind}/{name} (target {word}):\t{current} / {target}")
        }
        "Resource" => resource("resource", "", "/resource", metric, current),
        "ContainerResource" => {
            let container = format!(" of container \"{}\"", metric.text("/containerResource/container"));
            resource("resource", &container, "/containerResource", metric, current)
        }
        other => format!("<unknown metric type {other:?}>"),
    }
}

fn resource(word: &str, container: &str, pointer: &str, metric: &Value, current: &Value) -> String {
    let at = |value: &Value, field: &str| scalar(value.at(&format!("{pointer}{field}")));
    let unknown = || "<unknown>".to_owned();
    let name = metric.text(&format!("{pointer}/name"));
    let title = format!("{word} {name}{container} on pods");
    if let Some(target) = at(metric, "/target/averageValue") {
        let current = at(current, "/current/averageValue").unwrap_or_else(unknown);
        return format!("{title}:\t{current} / {target}");
    }
    let value = at(current, "/current/averageValue").unwrap_or_else(|| "0".to_owned());
    let current = at(current, "/current/averageUtilization").map(|percent| format!("{percent}% ({value})"));
    let target = at(metric, "/target/averageUtilization").map(|percent| format!("{percent}%"));
    let target = target.unwrap_or_else(|| "<auto>".to_owned());
    format!("{title}  (as a percentage of request):\t{} / {target}", current.unwrap_or_else(unknown))
}

fn behavior(title: &str, rules: &Value, page: &mut Page) {
    if rules.is_null() {
        return;
    }
    page.line(1, format!("{title}:"));
    if rules.has("/stabilizationWindowSeconds") {
        page.line(2, format!("Stabilization Window: {} seconds", rules.int("/stabilizationWindowSeconds")));
    }
    let policies = rules.list("/policies");
    if !policies.is_empty() {
        page.line(2, format!("Select Policy: {}", rules.text_or("/selectPolicy", "Max")));
        page.line(2, "Policies:");
    }
    for policy in policies {
        let (value, period) = (policy.int("/value"), policy.int("/periodSeconds"));
        page.line(3, format!("- Type: {}\tValue: {value}\tPeriod: {period} seconds", policy.text("/type")));
    }
}
