//! Horizontal pod autoscalers and pod disruption budgets.

use serde_json::Value;

use super::{NONE, UNSET, first_of};
use crate::{
    age::UNKNOWN,
    column::{AGE, Builtin, NAME, integer, text},
    look::Look,
};

pub(super) const HORIZONTAL_POD_AUTOSCALER: &[Builtin] = &[
    NAME,
    text("Reference", |autoscaler, _| {
        let target = autoscaler.at("/spec/scaleTargetRef");
        format!("{}/{}", target.text("/kind"), target.text("/name")).into()
    }),
    text("Targets", |autoscaler, _| targets(autoscaler).into()),
    text("MinPods", |autoscaler, _| autoscaler.scalar("/spec/minReplicas").map_or(UNSET.into(), Value::from)),
    text("MaxPods", |autoscaler, _| autoscaler.int("/spec/maxReplicas").into()),
    text("Replicas", |autoscaler, _| autoscaler.int("/status/currentReplicas").into()),
    AGE,
];

pub(super) const POD_DISRUPTION_BUDGET: &[Builtin] = &[
    NAME,
    text("Min Available", |budget, _| or_not_applicable(budget, "/spec/minAvailable")),
    text("Max Unavailable", |budget, _| or_not_applicable(budget, "/spec/maxUnavailable")),
    integer("Allowed Disruptions", |budget, _| budget.int("/status/disruptionsAllowed").into()),
    AGE,
];

fn or_not_applicable(budget: &Value, pointer: &str) -> Value {
    budget.scalar(pointer).unwrap_or_else(|| "N/A".to_owned()).into()
}

/// Current and target values of the first metrics.
fn targets(autoscaler: &Value) -> String {
    const LIMIT: usize = 2;
    let current = autoscaler.list("/status/currentMetrics");
    let metrics = autoscaler.list("/spec/metrics").iter().enumerate();
    let shown: Vec<_> =
        metrics.map(|(index, metric)| target(metric, current.get(index).unwrap_or(&Value::Null))).collect();
    if shown.is_empty() { NONE.to_owned() } else { first_of(&shown, LIMIT, ", ") }
}

fn target(metric: &Value, status: &Value) -> String {
    // The field has the name of the type, with a lower-case first letter.
    let (field, is_of_pods) = match metric.text("/type") {
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "External" => ("external", false),
        _ => return "<unknown type>".to_owned(),
    };
    let (metric, status) = (metric.at(&format!("/{field}")), status.at(&format!("/{field}")));
    let (wanted, is) = (metric.at("/target"), status.at("/current"));
    if is_of_pods {
        let name = metric.text("/name");
        return match wanted.scalar("/averageValue") {
            Some(wanted) => format!("{name}: {}/{wanted}", quantity(status, is, "/averageValue")),
            None => format!(
                "{name}: {}/{}",
                percent(is, "/averageUtilization").unwrap_or_else(|| UNKNOWN.to_owned()),
                percent(wanted, "/averageUtilization").unwrap_or_else(|| "<auto>".to_owned()),
            ),
        };
    }
    match wanted.scalar("/averageValue") {
        Some(wanted) if field == "pods" => format!("{}/{wanted}", quantity(status, is, "/averageValue")),
        Some(wanted) => {
            let is = is.scalar("/averageValue").unwrap_or_else(|| UNKNOWN.to_owned());
            format!("{is}/{wanted} (avg)")
        }
        None => {
            let wanted = wanted.scalar("/value").unwrap_or_else(|| NIL.to_owned());
            format!("{}/{wanted}", quantity(status, is, "/value"))
        }
    }
}

/// Cell of a missing quantity.
const NIL: &str = "<nil>";

/// Quantity of a status, which may not exist yet.
fn quantity(status: &Value, current: &Value, pointer: &str) -> String {
    let missing = if status.is_null() { UNKNOWN } else { NIL };
    current.scalar(pointer).unwrap_or_else(|| missing.to_owned())
}

fn percent(value: &Value, pointer: &str) -> Option<String> {
    Some(format!("{}%", value.scalar(pointer)?))
}
